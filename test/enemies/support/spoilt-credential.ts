import type { RailUnderTest } from '../../support/credentials.ts'

export type Echo = { resource?: unknown; challenge?: { opaque?: unknown } }

/** Without something that its challenge had, and that names it in no way. */
export function withoutPart({ resource: _, challenge, ...rest }: Echo): object {
  if (!challenge) return rest
  const { opaque: _opaque, ...echoed } = challenge
  return { ...rest, challenge: echoed }
}

/** A credential of which a part is lost. */
export function spoilt(rail: RailUnderTest, credential: string, spoil = withoutPart): string {
  const [encoded = ''] = credential.split(' ').slice(-1)
  const text = Buffer.from(JSON.stringify(spoil(JSON.parse(Buffer.from(encoded, 'base64url').toString()))))
  return rail.rail === 'x402' ? text.toString('base64') : `Payment ${text.toString('base64url')}`
}

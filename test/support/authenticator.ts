import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** What a device with a passkey does, with every part of it open to be wrong. */
export type Wrong = {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly flags?: number
  readonly counter?: number
  readonly crossOrigin?: boolean
  readonly signature?: Buffer
  readonly userHandle?: string
  readonly alg?: number
}

export type Authenticator = ReturnType<typeof createAuthenticator>

const UP_UV = 0x05
const ATTESTED = 0x40

export function createAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(32)
  let counter = 0

  const clientData = (type: string, challenge: string, wrong: Wrong) =>
    Buffer.from(
      JSON.stringify({
        type: wrong.type ?? type,
        challenge,
        origin: wrong.origin ?? origin,
        crossOrigin: wrong.crossOrigin ?? false,
      }),
    )

  function data(flags: number, wrong: Wrong): Buffer {
    const head = Buffer.alloc(37)
    sha256(wrong.rpId ?? new URL(origin).hostname).copy(head)
    head[32] = wrong.flags ?? flags
    head.writeUInt32BE(wrong.counter ?? ++counter, 33)
    return head
  }

  return {
    /** As `toJSON()` of `navigator.credentials.create` gives it. */
    make({ challenge }: { readonly challenge: string }, wrong: Wrong = {}) {
      const key = new Map<number, number | Buffer>([
        [1, 2],
        [3, wrong.alg ?? -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ])
      const flags = wrong.flags ?? UP_UV | ATTESTED
      const authData = Buffer.concat([data(flags, wrong), Buffer.alloc(16), Buffer.from([0, 32]), id, cbor(key)])
      const attestationObject = cbor(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      )
      return {
        id: text(id),
        rawId: text(id),
        type: 'public-key',
        response: {
          clientDataJSON: text(clientData('webauthn.create', challenge, wrong)),
          attestationObject: text(attestationObject),
          transports: ['internal'],
        },
        clientExtensionResults: {},
      }
    },
    /** As `toJSON()` of `navigator.credentials.get` gives it. */
    get({ challenge }: { readonly challenge: string }, wrong: Wrong = {}) {
      const clientDataJSON = clientData('webauthn.get', challenge, wrong)
      const authenticatorData = data(UP_UV, wrong)
      const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientDataJSON)]), privateKey)
      return {
        id: text(id),
        rawId: text(id),
        type: 'public-key',
        response: {
          clientDataJSON: text(clientDataJSON),
          authenticatorData: text(authenticatorData),
          signature: text(wrong.signature ?? signature),
          userHandle: wrong.userHandle ?? null,
        },
        clientExtensionResults: {},
      }
    },
  }
}

function text(bytes: Buffer): string {
  return bytes.toString('base64url')
}

function sha256(content: string | Buffer): Buffer {
  return createHash('sha256').update(content).digest()
}

/** As little as the objects above need. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (value instanceof Map)
    return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, item]) => [cbor(key), cbor(item)])])
  throw new TypeError('not needed here')
}

function head(major: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(major << 5) | count])
  if (count < 256) return Buffer.from([(major << 5) | 24, count])
  return Buffer.from([(major << 5) | 25, count >> 8, count & 255])
}

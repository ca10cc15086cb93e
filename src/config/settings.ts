import type { Environment } from './options.ts'

/** One option as whoever runs the shop may see it. */
export type Setting = {
  readonly option: string
  /** Where its value comes from. */
  readonly origin: 'set' | 'file' | 'default'
  /** Null: it is not set, or it is nobody's to read. */
  readonly shown: string | null
}

/** Nothing of these is shown, whatever it looks like. */
const PRIVATE = /KEY|SECRET|TOKEN|PASSWORD|AUTH|HEADER|DATABASE_URL|SIGNER/
/** What cannot be a secret: a number, a switch, a word, a time, addresses of wallets, names of networks. */
const PLAIN =
  /^(-?\d+(\.\d+)?|[a-z][a-z0-9:.-]{0,23}|0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*|eip155:\d+|[\d, ]{1,100})$/

/** Everything that this configuration knows, with what may be seen of it. Addresses are told by their host: the rest may hold a key. */
export function settingsOf(env: Environment, known: Iterable<string>): readonly Setting[] {
  return [...known]
    .filter((option) => !option.endsWith('_FILE'))
    .sort()
    .map((option) => {
      const value = env[option]?.trim() ?? ''
      const isFile = (env[`${option}_FILE`]?.trim() ?? '') !== ''
      const origin = value !== '' ? 'set' : isFile ? 'file' : 'default'
      return { option, origin, shown: value === '' || PRIVATE.test(option) ? null : shownOf(value) }
    })
}

function shownOf(value: string): string | null {
  if (PLAIN.test(value)) return value
  const hosts = value.split(',').map(hostOf)
  return hosts.every((host) => host !== null) ? hosts.join(', ') : null
}

function hostOf(text: string): string | null {
  if (!/^(https?|wss?):\/\//.test(text.trim()) || !URL.canParse(text.trim())) return null
  const { protocol, host } = new URL(text.trim())
  return `${protocol}//${host}`
}

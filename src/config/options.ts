import { readFileSync, statSync } from 'node:fs'
import { type Address, checksumAddress, hasWrongChecksum, isAddress, ZERO_ADDRESS } from '../base/address.ts'
import { Secret } from '../base/secret.ts'
import { insteadOf } from './gone.ts'
import { isPublishedAddress, isPublishedSecret } from './published.ts'
import type { ChainKey, RemoteSigner } from './signing-key.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** One thing that is wrong with the configuration, and how to mend it. */
type ConfigIssue = { readonly option: string; readonly message: string }

/** All faults at once: nobody should have to start five times to learn five mistakes. */
export class ConfigFault extends Error {
  readonly issues: readonly ConfigIssue[]
  constructor(issues: readonly ConfigIssue[]) {
    super(
      `the configuration has ${issues.length} fault${issues.length === 1 ? '' : 's'}:\n${issues.map(({ option, message }) => `  ${option}: ${message}`).join('\n')}`,
    )
    this.name = 'ConfigFault'
    this.issues = issues
  }
}

const SECRET_LENGTH_MIN = 32
const AT_SIGNER = 'signer:'
const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/
/** Values from examples and documentation that somebody will forget to change. */
const WEAK = /change.?me|example|secret123|password|^(.)\1+$/i

/**
 * Reads options by name, collects what is wrong, and remembers which names exist, so that a misspelt one is a fault too instead of
 * a silent default.
 */
export function optionReader(env: Environment) {
  const source = sourceOf(env)
  const plain = { ...source, ...plainValues(source), ...addresses(source), ...secrets(source) }
  return { ...plain, ...signingKeys(plain), ...refusals(source, env) }
}

export type OptionReader = ReturnType<typeof optionReader>

type Source = ReturnType<typeof sourceOf>

function sourceOf(env: Environment) {
  const issues: ConfigIssue[] = []
  const known = new Set<string>()

  function fault<Value>(option: string, message: string, placeholder: Value): Value {
    issues.push({ option, message })
    return placeholder
  }

  function optional(option: string): string | undefined {
    known.add(option)
    const value = env[option]?.trim()
    return value === '' ? undefined : value
  }

  function required(option: string, what: string): string {
    return optional(option) ?? fault(option, `is missing; set it to ${what}`, '')
  }

  /** Options that mean something elsewhere, or later. */
  const skip = (...options: readonly string[]): void => options.forEach(optional)

  return { issues, known: known as ReadonlySet<string>, fault, optional, required, skip }
}

function plainValues({ fault, optional }: Source) {
  function choice<Choice extends string>(option: string, choices: readonly Choice[], fallback: Choice): Choice {
    const value = optional(option) ?? fallback
    return choices.includes(value as Choice)
      ? (value as Choice)
      : fault(option, `must be one of ${choices.join(', ')}; it is ${value}`, fallback)
  }

  return {
    choice,
    text: (option: string, fallback: string): string => optional(option) ?? fallback,
    flag: (option: string, fallback: boolean): boolean =>
      choice(option, ['true', 'false'], fallback ? 'true' : 'false') === 'true',
    integer(option: string, fallback: number, { min, max }: { min: number; max: number }): number {
      const value = optional(option)
      if (value === undefined) return fallback
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
      return number >= min && number <= max
        ? number
        : fault(option, `must be a whole number from ${min} to ${max}; it is ${value}`, fallback)
    },
    bigint(option: string, fallback: bigint): bigint {
      const value = optional(option)
      if (value === undefined) return fallback
      return /^\d{1,78}$/.test(value)
        ? BigInt(value)
        : fault(option, `must be a whole number; it is ${value}`, fallback)
    },
  }
}

function addresses({ fault, optional }: Source) {
  return {
    address(option: string, what: string): Address {
      const value = optional(option)
      if (value === undefined) return fault(option, `is missing; set it to ${what}`, ZERO_ADDRESS)
      if (!isAddress(value)) return fault(option, `is not an address (0x and 40 digits)`, ZERO_ADDRESS)
      if (hasWrongChecksum(value)) return fault(option, `has a wrong checksum: a digit is mistyped`, ZERO_ADDRESS)
      if (value.toLowerCase() === ZERO_ADDRESS) return fault(option, 'is the zero address', ZERO_ADDRESS)
      return isPublishedAddress(value) ? fault(option, 'is an address whose key everybody knows', ZERO_ADDRESS) : value
    },
    url(option: string, value: string, { secure }: { secure: boolean }): string {
      let parsed: URL
      try {
        parsed = new URL(value)
      } catch {
        return fault(option, `is not a URL`, value)
      }
      const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(parsed.hostname)
      if (!['http:', 'https:'].includes(parsed.protocol)) return fault(option, 'must start with https://', value)
      if (secure && parsed.protocol !== 'https:' && !isLocal)
        return fault(option, 'must start with https:// (only localhost may do without)', value)
      return value.replace(/\/+$/, '')
    },
  }
}

function secrets({ fault, optional }: Source) {
  function secretText(option: string, what: string): string | null {
    const file = optional(`${option}_FILE`)
    const value = optional(option)
    if (file !== undefined && value !== undefined)
      return fault(option, `is set twice: give either ${option} or ${option}_FILE`, null)
    if (file === undefined) return value ?? fault(option, `is missing; set it (or ${option}_FILE) to ${what}`, null)
    const { text, trouble } = readSecretFile(file)
    return trouble === null ? text : fault(`${option}_FILE`, `names a file ${trouble}`, null)
  }

  return {
    /** A text with a secret in it, which the caller reads; undefined when neither the option nor its file is set. */
    optionalSecret(option: string): string | undefined {
      const isSet = [option, `${option}_FILE`].some((name) => optional(name) !== undefined)
      return isSet ? (secretText(option, '') ?? undefined) : undefined
    },
    /** `NAME`, or a file named by `NAME_FILE`, as container platforms hand secrets in. */
    secret(option: string, what: string): Secret {
      const value = secretText(option, what)
      if (value === null) return new Secret('')
      if (value.length < SECRET_LENGTH_MIN)
        return fault(
          option,
          `is too short; use at least ${SECRET_LENGTH_MIN} characters, for example from \`openssl rand -hex 32\``,
          new Secret(''),
        )
      if (WEAK.test(value) || isPublishedSecret(value))
        return fault(
          option,
          'is a well-known or repeated value; make a random one with `openssl rand -hex 32`',
          new Secret(''),
        )
      return new Secret(value)
    },
    /** A key in a form of its own, which the caller reads. */
    keyText(option: string, what: string): Secret {
      const value = secretText(option, what) ?? ''
      return isPublishedSecret(value)
        ? fault(option, 'is a key that everybody knows; make one of your own', new Secret(''))
        : new Secret(value)
    },
    privateKey(option: string, what: string): Secret {
      const value = secretText(option, what)
      if (value === null) return new Secret('')
      if (!PRIVATE_KEY.test(value))
        return fault(option, 'is not a private key (0x and 64 hexadecimal digits)', new Secret(''))
      if (/^0x0*[0-9a-f]{1,2}$/i.test(value) || isPublishedSecret(value))
        return fault(option, 'is a well-known test key; make one of your own', new Secret(''))
      return new Secret(value)
    },
  }
}

type Plain = Source & ReturnType<typeof addresses> & ReturnType<typeof secrets>

function signingKeys({ fault, optional, optionalSecret, privateKey, secret, url }: Plain) {
  function readSigner(option: string): RemoteSigner {
    const place = optional('SUTLER_SIGNER_URL')
    if (place === undefined) {
      const message = 'is a key of the signer, and SUTLER_SIGNER_URL does not say where that is'
      return fault(option, message, { url: '', token: null })
    }
    const hasToken = ['SUTLER_SIGNER_TOKEN', 'SUTLER_SIGNER_TOKEN_FILE'].some((name) => optional(name) !== undefined)
    return {
      url: url('SUTLER_SIGNER_URL', place, { secure: true }),
      token: hasToken ? secret('SUTLER_SIGNER_TOKEN', 'the token that the signer asks for') : null,
    }
  }

  return {
    /** A private key, or `signer:0x…`: the key with this address, which only the signer has. */
    signingKey(option: string, what: string): ChainKey {
      const value = optional(option) ?? (optional(`${option}_FILE`) === undefined ? '' : (optionalSecret(option) ?? ''))
      if (!value.startsWith(AT_SIGNER)) return privateKey(option, `${what}, or to signer:0x… for one that a signer has`)
      const address = value.slice(AT_SIGNER.length)
      const signer = readSigner(option)
      if (!isAddress(address) || hasWrongChecksum(address)) {
        const message = `names a key of the signer by something that is no address: ${address}`
        return fault(option, message, { address: ZERO_ADDRESS, signer })
      }
      if (isPublishedAddress(address)) fault(option, 'is an address whose key everybody knows', null)
      return { address: checksumAddress(address), signer }
    },
  }
}

const READ_BY_OTHERS = 0o004

/** A secret from a file of its own. Whoever can log in to the machine must not be able to read it. */
export function readSecretFile(
  file: string,
): { readonly text: string; readonly trouble: null } | { readonly text: null; readonly trouble: string } {
  try {
    if ((statSync(file).mode & READ_BY_OTHERS) !== 0)
      return { text: null, trouble: `that every user of this machine can read; run: chmod 600 ${file}` }
    return { text: readFileSync(file, 'utf8').trim(), trouble: null }
  } catch {
    return { text: null, trouble: `that cannot be read: ${file}` }
  }
}

function refusals({ fault, optional, known }: Source, env: Environment) {
  return {
    /** Another option has made this one, or the file that it may stand in, pointless: whoever set it expects something of it. */
    refuseUseless(option: string, why: string): void {
      for (const name of [option, `${option}_FILE`])
        if (optional(name) !== undefined) fault(name, `${why}; leave it out`, null)
    },
    /** To be called last: names that look like ours and are not are typing mistakes. */
    refuseUnknown(prefix: string, ofProduction: ReadonlySet<string>): void {
      for (const name of Object.keys(env)) {
        if (!name.startsWith(prefix) || known.has(name)) continue
        if (ofProduction.has(name)) {
          fault(name, 'is used only with SUTLER_MODE=production; set that, or leave this out', null)
          continue
        }
        const instead = insteadOf(name) ?? `did you mean ${nearest(name, [...known])}?`
        fault(name, `is not an option; ${instead}`, null)
      }
    },
  }
}

function nearest(name: string, names: readonly string[]): string {
  return names.toSorted((a, b) => distance(name, a) - distance(name, b))[0] ?? 'something else'
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    row = next
  }
  return row[b.length]!
}

export function list(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

import { Secret } from '../base/secret.ts'
import { type Environment, optionReader } from './options.ts'
import { SANDBOX_OPERATOR_TOKEN } from './published.ts'

/** What somebody needs who talks to a shop: where it is, and, for the people who run it, the token. */
type ClientConfig = {
  readonly url: string
  readonly operatorToken: Secret
  /** Of a buyer; null when none is given. */
  readonly privateKey: Secret | null
}

/** Reads only what a client needs: whoever looks at a shop from elsewhere has none of its configuration. */
export function readClientConfig(env: Environment): ClientConfig {
  const read = optionReader(env)
  const port = read.integer('PORT', 4020, { min: 1, max: 65_535 })
  // A person's own comes before the shop's, which only reads: both may stand in one file.
  const name = ['SUTLER_TOKEN', 'SUTLER_TOKEN_FILE'].some((option) => read.optional(option))
    ? 'SUTLER_TOKEN'
    : 'SUTLER_OPERATOR_TOKEN'
  const token = read.optional(`${name}_FILE`)
    ? read.keyText(name, 'the operator token')
    : new Secret(read.text(name, SANDBOX_OPERATOR_TOKEN))
  const key = read.optional('PRIVATE_KEY')
  return {
    url: read.text('SUTLER_BASE_URL', `http://localhost:${port}`).replace(/\/+$/, ''),
    operatorToken: token,
    privateKey: key === undefined ? null : new Secret(key),
  }
}

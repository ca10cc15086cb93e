import type { JsonObject } from '../base/json.ts'
import { type Command, operatorOptions } from './command.ts'
import { operatorIdOf } from './operators.ts'
import { operatorClient } from './shop-client.ts'

type TokenView = {
  readonly id: string
  readonly name: string
  readonly operator: string
  readonly usedAt: string | null
  readonly expiresAt: string
}

export const listTokens: Command = {
  args: '[operator]',
  about:
    'Lists personal tokens that work: whose, what for, when last used and when they end; never what they are. Your own, or those of an\noperator (for an admin). They are made at the console, in People.',
  options: { ...operatorOptions, all: { about: 'those of everybody (for an admin)' } },
  examples: [
    ['sutler tokens', 'which of mine are out there?'],
    ['sutler tokens list --all', 'and of everybody'],
  ],
  async run(call) {
    const [name] = call.args
    const of = call.flag('all') ? 'all' : name === undefined ? null : await operatorIdOf(call, name)
    const query = of === null ? '' : `?${new URLSearchParams({ of })}`
    const answer = await operatorClient(call).get<JsonObject & { tokens: TokenView[] }>(`/operator/tokens${query}`)
    const { table, style } = call.terminal
    const rows = answer.tokens.map(({ id, name, operator, usedAt, expiresAt }) => [
      id,
      operator,
      name,
      usedAt === null ? style.dim('never used') : `used ${usedAt}`,
      `until ${expiresAt}`,
    ])
    return { json: answer, text: rows.length === 0 ? style.dim('there are none') : table(rows) }
  },
}

export const revokeToken: Command = {
  args: '<token>',
  about:
    'Revokes a personal token from this moment on, with the sessions that it let in. Yours, or as an admin anybody’s.',
  options: operatorOptions,
  examples: [['sutler tokens revoke tok_4w5k…', 'as `sutler tokens` lists it']],
  async run(call) {
    const [id = ''] = call.args
    const answer = await operatorClient(call).delete(`/operator/tokens/${encodeURIComponent(id)}`)
    return { json: answer, text: `${id} lets nobody in any more` }
  },
}

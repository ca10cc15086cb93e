import { existsSync } from 'node:fs'
import { isoTime, systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import { loadConfig, meansProduction } from '../config/load.ts'
import { type Role, roles } from '../domain/operator.ts'
import { linkByStore } from '../service/people-desk.ts'
import { createFile } from '../setup/durable-file.ts'
import { type Command, type CommandCall, CommandRefusal, operatorOptions, UsageFault } from './command.ts'
import type { Output } from './output.ts'
import { operatorClient } from './shop-client.ts'
import { withStore } from './store-access.ts'

type OperatorView = JsonObject & {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly state: 'active' | 'revoked'
  readonly sessions: number
  readonly tokens: number
  readonly seenAt: string | null
}

type Keys = JsonObject & {
  readonly name: string
  readonly role: Role
  readonly link: { readonly url: string; readonly expiresAt: string } | null
  readonly token?: { readonly token: string; readonly expiresAt: string } | null
}

const ROLES = 'viewer reads; support retries, decides and refunds within its budget; admin does all'

export const listOperators: Command = {
  args: '',
  about: 'Lists who runs the shop: role, sessions, tokens, and when they were last seen.',
  options: operatorOptions,
  examples: [['sutler operators', 'who can get in?']],
  async run(call) {
    const answer = await operatorClient(call).get<JsonObject & { operators: OperatorView[] }>('/operator/operators')
    const { table, style } = call.terminal
    const rows = answer.operators.map((one) => [
      one.state === 'active' ? one.name : style.dim(one.name),
      one.state === 'active' ? one.role : style.dim('revoked'),
      counted(one.sessions, 'session'),
      counted(one.tokens, 'token'),
      one.seenAt ?? 'never seen',
    ])
    const none = 'nobody but the operator token; add somebody with `sutler operators add <name> --role admin`'
    return { json: answer, text: rows.length === 0 ? style.dim(none) : table(rows) }
  },
}

export const addOperator: Command = {
  args: '<name>',
  about: `Adds somebody who runs the shop, and prints the link that lets them in: once, within 15 minutes. Give it to them and to nobody else.\n${ROLES}.`,
  options: {
    ...operatorOptions,
    role: { value: 'role', about: `${roles.join(', ')}; viewer unless told` },
    'with-token': { about: 'also a personal token for the command line' },
    'token-file': { value: 'file', about: 'the same, written into a file that only you can read' },
    days: { value: 'days', about: 'how long that token is good for: 1 to 365; 90 unless told' },
  },
  examples: [
    ['sutler operators add mara --role admin', 'Mara may do all, under her own name'],
    ['sutler operators add bot --role viewer --token-file bot.key', 'for Prometheus, or a script that only reads'],
  ],
  async run(call) {
    const [name = ''] = call.args
    const file = call.option('token-file')
    if (file !== undefined && existsSync(file))
      throw new CommandRefusal('file_exists', `${file} exists, and nothing was done; name another file`)
    const body = {
      name,
      role: roleOf(call.option('role') ?? 'viewer', 'operators add'),
      token: call.flag('with-token') || file !== undefined,
      ...daysIn(call),
    }
    const answer = await operatorClient(call).post<Keys>('/operator/operators', body)
    if (file !== undefined) createFile(file, `${answer.token!.token}\n`, { mode: 0o600 })
    const added = file === undefined ? answer : { ...answer, token: null }
    return { json: added, text: [`${added.name} is ${added.role}`, ...keyLines(added)].join('\n') }
  },
}

export const linkOperator: Command = {
  args: '[name]',
  about:
    'Another link that lets somebody in: once, within 15 minutes. Without a name it is for the first admin, while the shop has none; whoever\nuses it says their name then. With --by-store, and without any token, the store itself is asked where the configuration of the shop is, an\nembedded one while the shop does not run: for an admin who cannot get in any more.',
  options: { ...operatorOptions, 'by-store': { about: 'ask the store itself, and not the shop' } },
  examples: [
    ['sutler operators link mara', 'Mara has another computer'],
    ['sutler operators link', 'nobody has signed in yet'],
  ],
  async run(call) {
    const [name] = call.args
    if (call.flag('by-store') || (name === undefined && hasNoToken(call))) return madeByStore(call, name ?? null)
    const path = name === undefined ? '/operator/operators/first' : `${await pathOf(call, name)}/link`
    const made = await operatorClient(call).post<Keys>(path)
    return { json: made, text: keyLines(made).join('\n') }
  },
}

/** A shop that people alone run: there is no token with which it could be asked. */
function hasNoToken({ env, option }: CommandCall): boolean {
  const given = option('token') ?? option('url') ?? env['SUTLER_OPERATOR_TOKEN'] ?? env['SUTLER_OPERATOR_TOKEN_FILE']
  return given === undefined && meansProduction(env)
}

async function madeByStore({ env }: CommandCall, name: string | null): Promise<Output> {
  const loaded = loadConfig(env)
  if (loaded.mode === 'sandbox')
    throw new CommandRefusal(
      'sandbox',
      'in a sandbox anybody is the admin, at /operator; leave --by-store out for a link',
    )
  const { config } = loaded
  const link = await withStore(config.store, (database) =>
    linkByStore({ config, database, clock: systemClock, random: systemRandom }, name),
  )
  if (!link && name !== null) throw new CommandRefusal('no_operator', `there is no operator ${name}`)
  if (!link) throw new CommandRefusal('has_admin', 'there is an admin already, who can make a link for anybody')
  const made: Keys = { name: name ?? '', role: link.role, link: { url: link.url, expiresAt: isoTime(link.expiresAt) } }
  return { json: made, text: keyLines(made).join('\n') }
}

export const changeOperatorRole: Command = {
  args: '<name> <role>',
  about: `Gives somebody another role. Their sessions end, and they sign in again. ${ROLES}.`,
  options: operatorOptions,
  examples: [['sutler operators role ada support', 'Ada may refund now']],
  async run(call) {
    const [name = '', role = ''] = call.args
    const body = { role: roleOf(role, 'operators role') }
    const view = await operatorClient(call).post<OperatorView>(`${await pathOf(call, name)}/role`, body)
    return { json: view, text: `${view.name} is ${view.role}, and signs in again` }
  },
}

export const revokeOperator: Command = {
  args: '<name>',
  about:
    'Removes an operator: sessions and tokens end at once. What they did stays in the audit log. The last admin cannot be\nremoved.',
  options: operatorOptions,
  examples: [['sutler operators revoke ada', 'Ada has left']],
  async run(call) {
    const [name = ''] = call.args
    const view = await operatorClient(call).post<OperatorView>(`${await pathOf(call, name)}/revoke`)
    return { json: view, text: `${view.name} is let in no more` }
  },
}

function daysIn(call: CommandCall): { tokenDays?: number } {
  const text = call.option('days')
  if (text === undefined) return {}
  if (!/^\d{1,3}$/.test(text)) throw new UsageFault(`${text} is no number of days`, 'operators add')
  return { tokenDays: Number(text) }
}

async function pathOf(call: CommandCall, name: string): Promise<string> {
  return `/operator/operators/${encodeURIComponent(await operatorIdOf(call, name))}`
}

/** By name or id. */
export async function operatorIdOf(call: CommandCall, name: string): Promise<string> {
  const { operators } = await operatorClient(call).get<{ operators: OperatorView[] }>('/operator/operators')
  const found = operators.find(
    ({ id, name: known, state }) => id === name || (state === 'active' && known.toLowerCase() === name.toLowerCase()),
  )
  if (!found) throw new CommandRefusal('operator_not_found', `there is no operator ${name}; see \`sutler operators\``)
  return found.id
}

function roleOf(text: string, command: string): Role {
  const role = roles.find((known) => known === text)
  if (!role) throw new UsageFault(`${text} is no role; there are ${roles.join(', ')}`, command)
  return role
}

function keyLines({ link, token }: Keys): readonly string[] {
  return [
    ...(link ? [`link  ${link.url}`, `It works once, until ${link.expiresAt}.`] : []),
    ...(token ? [`token ${token.token}`, 'It is shown only now: SUTLER_TOKEN on their own machine.'] : []),
  ]
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

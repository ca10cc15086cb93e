import type { JsonObject } from '../base/json.ts'
import { type Command, operatorOptions, UsageFault } from './command.ts'
import { saidBy } from './sales.ts'
import { operatorClient } from './shop-client.ts'

type BlockView = JsonObject & {
  readonly address: string
  readonly reason: string
  readonly by: string
  readonly at: string
}

type BlocksView = JsonObject & {
  readonly blocks: readonly BlockView[]
  readonly configured: readonly string[]
  readonly next: string | null
}

export const listBlocks: Command = {
  args: '',
  about:
    'Lists the payers whom nothing is sold to, the newest first, and those that the configuration blocks (SUTLER_BLOCKED_PAYERS).',
  options: {
    ...operatorOptions,
    cursor: { value: 'cursor', about: 'the next page: what the page before it ended with' },
  },
  examples: [['sutler blocks', 'who is not served?']],
  async run(call) {
    const cursor = call.option('cursor')
    const query = cursor === undefined ? '' : `?${new URLSearchParams({ cursor })}`
    const page = await operatorClient(call).get<BlocksView>(`/operator/blocks${query}`)
    const { table, style } = call.terminal
    const rows = [
      ...page.blocks.map(({ address, at, by, reason }) => [address, at, by, reason]),
      ...(cursor === undefined
        ? page.configured.map((address) => [address, style.dim('by the configuration'), '', ''])
        : []),
    ]
    const more = page.next === null ? '' : style.dim(`\nolder: sutler blocks list --cursor ${page.next}`)
    return { json: page, text: rows.length === 0 ? style.dim('everybody is served') : table(rows) + more }
  },
}

export const blockCommand: Command = {
  args: '<payer>',
  about:
    'Sells nothing to a payer from this moment on, at all replicas, by whatever protocol. What they have paid for is delivered; what cannot be,\nand what they send all the same, waits for a person.',
  options: {
    ...operatorOptions,
    reason: { value: 'text', about: 'why; the payer is not told' },
    by: { value: 'name', about: 'who decided it; kept with the deed' },
  },
  examples: [['sutler block 0x4e7f… --reason "Stolen card at the exchange"', 'their address, however it is spelt']],
  async run(call) {
    const [address = ''] = call.args
    const reason = call.option('reason')
    if (reason === undefined) throw new UsageFault('say why with --reason', 'block')
    const body = { address, reason, ...saidBy(call) }
    const answer = await operatorClient(call).post<BlockView & { did: string }>('/operator/blocks', body)
    const { did, by, at } = answer
    const text =
      did === 'nothing' ? `${address} was blocked already, by ${by} at ${at}` : `${address} is served no more`
    return { json: answer, text }
  },
}

export const unblockCommand: Command = {
  args: '<payer>',
  about: 'Sells to a blocked payer again. Whom the configuration blocks is unblocked there.',
  options: operatorOptions,
  examples: [['sutler unblock 0x4e7f…', 'it was a mistake']],
  async run(call) {
    const [address = ''] = call.args
    const path = `/operator/blocks/${encodeURIComponent(address)}`
    const answer = await operatorClient(call).delete<JsonObject & { did: string }>(path)
    return {
      json: answer,
      text: answer.did === 'nothing' ? `${address} was not blocked` : `${address} is served again`,
    }
  },
}

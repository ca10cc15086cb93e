import type { JsonObject } from '../base/json.ts'
import { rails } from '../rails/rails.ts'
import { type Command, type CommandCall, operatorOptions, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'
import type { Terminal } from './terminal.ts'

type PauseView = JsonObject & {
  readonly rail: string
  readonly reason: string
  readonly by: string
  readonly since: string
  readonly until: string | null
}

type SalesView = JsonObject & { readonly rails: readonly string[]; readonly pauses: readonly PauseView[] }

const by = { value: 'name', about: 'who decided it; kept with the deed' }

export const listSales: Command = {
  args: '',
  about:
    'Lists the protocols that the shop sells on, and on which of them somebody has paused sales, since when, until when and why.',
  options: operatorOptions,
  examples: [['sutler sales', 'does everything sell?']],
  async run(call) {
    const sales = await operatorClient(call).get<SalesView>('/operator/sales')
    return { json: sales, text: salesText(sales, call.terminal) }
  },
}

export const pauseCommand: Command = {
  args: '[rail]',
  about:
    'Sells nothing on a protocol, or on none of them, from this moment on, at all replicas: asked for it, the shop refuses before any money.\nWhat was paid for is delivered or sent back all the same.',
  options: {
    ...operatorOptions,
    reason: { value: 'text', about: 'why; for whoever looks next' },
    until: {
      value: 'time',
      about: 'when sales go on by themselves, for example 2026-12-24T18:00:00Z; else until `sutler resume`',
    },
    by,
  },
  examples: [
    [`sutler pause ${rails[0]!.name} --reason "Its node is down"`, 'the other protocol sells on'],
    ['sutler pause --reason "Stock-taking" --until 2026-12-24T18:00:00Z', 'everything, for a while'],
  ],
  async run(call) {
    const reason = call.option('reason')
    if (reason === undefined) throw new UsageFault('say why with --reason', 'pause')
    const until = call.option('until')
    const body = { reason, ...(until === undefined ? {} : { until }), ...saidBy(call) }
    const sales = await operatorClient(call).get<SalesView>('/operator/sales')
    return acted(call, call.args[0] === undefined ? sales.rails : call.args, 'pause', body)
  },
}

export const resumeCommand: Command = {
  args: '[rail]',
  about: 'Sells again on a protocol that was paused, or on all of them.',
  options: { ...operatorOptions, by },
  examples: [['sutler resume', 'everything is mended']],
  async run(call) {
    const sales = await operatorClient(call).get<SalesView>('/operator/sales')
    const paused = sales.pauses.map(({ rail }) => rail)
    return acted(call, call.args[0] === undefined ? paused : call.args, 'resume', saidBy(call))
  },
}

/** One after the other, and then how it is. */
async function acted(call: CommandCall, rails: readonly string[], word: 'pause' | 'resume', body: JsonObject) {
  const client = operatorClient(call)
  for (const rail of rails) await client.post(`/operator/sales/${encodeURIComponent(rail)}/${word}`, body)
  const sales = await client.get<SalesView>('/operator/sales')
  return { json: sales, text: salesText(sales, call.terminal) }
}

export function saidBy({ option }: Pick<CommandCall, 'option'>): { by?: string } {
  const name = option('by')
  return name === undefined ? {} : { by: name }
}

function salesText({ rails, pauses }: SalesView, { style, table }: Terminal): string {
  return table(
    rails.map((rail) => {
      const pause = pauses.find((one) => one.rail === rail)
      if (!pause) return [rail, style.green('sells')]
      const { since, until, by, reason } = pause
      return [
        rail,
        style.red('paused'),
        `since ${since}`,
        until === null ? 'until resumed' : `until ${until}`,
        by,
        reason,
      ]
    }),
  )
}

import { presentEndpoint } from '../api/operator/webhook-rows.ts'
import type { JsonObject } from '../base/json.ts'
import { eventTypes } from '../domain/event.ts'
import { listEndpoints } from '../store/webhooks/endpoints.ts'
import { type Command, operatorOptions, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'

type EndpointView = JsonObject & {
  readonly id: string
  readonly url: string
  readonly state: string
  readonly reason: string | null
  readonly eventTypes: readonly string[] | null
  readonly secret?: string
}

const KEEP = 'It is shown only now: keep it where the receiver finds it.'

export const listWebhooks: Command = {
  args: '',
  about: 'Lists the addresses that are told of events, and whether they are.',
  options: operatorOptions,
  examples: [['sutler webhooks list', 'who listens?']],
  async run(call) {
    const webhooks = await readShopOrStore(
      call,
      async (client) => (await client.get<{ webhooks: EndpointView[] }>('/operator/webhooks')).webhooks,
      async (database) => (await listEndpoints(database)).map(presentEndpoint) as EndpointView[],
    )
    const { style, table } = call.terminal
    const rows = webhooks.map(({ id, state, url, eventTypes, reason }) => [
      id,
      state === 'enabled' ? style.green(state) : style.red(state),
      url,
      eventTypes?.join(', ') ?? 'every event',
      reason ?? '',
    ])
    return { json: { webhooks }, text: rows.length === 0 ? 'nobody is told of events' : table(rows) }
  },
}

export const addWebhook: Command = {
  args: '<url>',
  about:
    'Tells an address of events from now on, signed as Standard Webhooks are. The answer holds the secret, once. Addresses must be\nhttps and public; a sandbox with SUTLER_WEBHOOK_LOOPBACK=true may also call this machine. docs/webhooks.md is the contract.',
  options: {
    ...operatorOptions,
    events: { value: 'types', about: `only these, separated by commas: ${eventTypes.slice(0, 3).join(', ')}, …` },
    description: { value: 'text', about: 'a note for people' },
  },
  examples: [
    ['sutler webhooks add https://game.example.com/hooks', 'every event'],
    [
      'sutler webhooks add https://ops.example.com/hooks --events order.failed,payment.held',
      'only what somebody should look at',
    ],
  ],
  async run(call) {
    const [url = ''] = call.args
    const types = call.option('events')?.split(',')
    const wrong = types?.find((type) => !(eventTypes as readonly string[]).includes(type))
    if (wrong !== undefined)
      throw new UsageFault(`${wrong} is no event; there are ${eventTypes.join(', ')}`, 'webhooks add')
    const added = await operatorClient(call).post<EndpointView>('/operator/webhooks', {
      url,
      ...(types ? { eventTypes: types } : {}),
      ...(call.option('description') === undefined ? {} : { description: call.option('description')! }),
    })
    return { json: added, text: `${added.id} is told of events\nsecret ${added.secret}\n${KEEP}` }
  },
}

export const rotateWebhook: Command = {
  args: '<webhook>',
  about: 'Makes a new secret. For a day both sign, so that the receiver can change over without losing an event.',
  options: operatorOptions,
  examples: [['sutler webhooks rotate whk_…', 'the old secret may have leaked']],
  async run(call) {
    const [id = ''] = call.args
    const rotated = await operatorClient(call).post<EndpointView>(`/operator/webhooks/${encodeURIComponent(id)}/rotate`)
    return { json: rotated, text: `${rotated.id} has a new secret\nsecret ${rotated.secret}\n${KEEP}` }
  },
}

export const replayWebhook: Command = {
  args: '<webhook>',
  about:
    'Sends events again: those that were given up after three days of trying, or all of them with --all. Receivers know a repetition\nby its webhook-id.',
  options: {
    ...operatorOptions,
    all: { about: 'also what was delivered' },
    after: { value: 'position', about: 'only events after this place in the log' },
  },
  examples: [['sutler webhooks replay whk_… --all --after 1200', 'the receiver lost its database']],
  async run(call) {
    const [id = ''] = call.args
    const after = call.option('after')
    const { queued } = await operatorClient(call).post<{ queued: number }>(
      `/operator/webhooks/${encodeURIComponent(id)}/replay`,
      { which: call.flag('all') ? 'all' : 'dead', ...(after === undefined ? {} : { after }) },
    )
    return { json: { queued }, text: queued === 1 ? 'one event is sent again' : `${queued} events are sent again` }
  },
}

export const enableWebhook: Command = {
  args: '<webhook>',
  about: 'Tells an address of events again, beginning with what was pending.',
  options: operatorOptions,
  examples: [['sutler webhooks enable whk_…', 'the receiver is mended']],
  async run(call) {
    const [id = ''] = call.args
    const view = await operatorClient(call).post<EndpointView>(`/operator/webhooks/${encodeURIComponent(id)}/enable`)
    return { json: view, text: `${id} is told of events again` }
  },
}

export const disableWebhook: Command = {
  args: '<webhook>',
  about:
    'Tells an address nothing for now. What was pending waits; what happens meanwhile can be sent with `sutler webhooks replay`.',
  options: { ...operatorOptions, reason: { value: 'text', about: 'why; for whoever looks next' } },
  examples: [['sutler webhooks disable whk_… --reason "Moving house"', 'the receiver is away for a while']],
  async run(call) {
    const [id = ''] = call.args
    const reason = call.option('reason')
    const path = `/operator/webhooks/${encodeURIComponent(id)}/disable`
    const view = await operatorClient(call).post<EndpointView>(path, reason === undefined ? {} : { reason })
    return { json: view, text: `${id} is told nothing for now` }
  },
}

export const removeWebhook: Command = {
  args: '<webhook>',
  about:
    'Forgets an address and the log of what it was told. Nothing more is sent there; the events themselves stay in the log of the shop.',
  options: operatorOptions,
  examples: [['sutler webhooks remove whk_…', 'nobody listens there any more']],
  async run(call) {
    const [id = ''] = call.args
    const answer = await operatorClient(call).delete(`/operator/webhooks/${encodeURIComponent(id)}`)
    return { json: answer, text: `${id} is forgotten` }
  },
}

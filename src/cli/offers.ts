import type { JsonObject } from '../base/json.ts'
import { type Command, shopOptions, UsageFault } from './command.ts'
import { publicClient } from './shop-client.ts'
import type { Terminal } from './terminal.ts'

type Item = {
  readonly surface: string
  readonly id: string
  readonly displayName: string
  readonly price: { readonly amount: string; readonly currency: string }
  readonly available?: boolean
  readonly checkout: { readonly protocols: readonly string[] }
}

type Entry = {
  readonly surface: string
  readonly protocol: string
  readonly method: string
  readonly purchaseUrl: string
}

type Catalog = JsonObject & { readonly items: readonly Item[]; readonly entries: readonly Entry[] }

const recipients = ['nickname', 'address', 'payer'] as const

export const offers: Command = {
  args: '',
  about:
    'Lists what the shop sells. Name one player, by nickname or wallet, to see their own prices and limits. The free quote routes tell\nmore about a single purchase; `sutler pay` buys.',
  options: {
    ...shopOptions,
    nickname: { value: 'name', about: 'prices for this player' },
    address: { value: '0x…', about: 'prices for the player of this wallet' },
    payer: { value: '0x…', about: 'the same, for whoever is going to pay' },
  },
  examples: [
    ['sutler offers', 'everything, with prices'],
    ['sutler offers --nickname Ada', "Ada's prices"],
  ],
  async run(call) {
    const named = recipients.flatMap((kind) => {
      const value = call.option(kind)
      return value === undefined ? [] : [[kind, value] as const]
    })
    if (named.length > 1) throw new UsageFault('name one recipient only', 'offers')
    const query = new URLSearchParams(named.map(([kind, value]) => [kind, value]))
    const catalog = await publicClient(call).get<Catalog>(`/catalog${named.length > 0 ? `?${query}` : ''}`)
    return { json: catalog, text: catalogText(catalog, call.terminal) }
  },
}

function catalogText({ items, entries }: Catalog, { style, table }: Terminal): string {
  return [
    table([
      ['SURFACE', 'ID', 'NAME', 'PRICE', 'PAID BY', ''].map(style.dim),
      ...items.map(({ surface, id, displayName, price, available, checkout }) => [
        surface,
        id,
        displayName,
        `${price.amount} ${price.currency}`,
        checkout.protocols.join(', '),
        available === false ? style.yellow('not available') : '',
      ]),
    ]),
    '',
    table(
      entries.map(({ surface, protocol, method, purchaseUrl }) => [
        `${style.dim(surface)}`,
        protocol,
        `${method} ${purchaseUrl}`,
      ]),
    ),
  ].join('\n')
}

// What the sandbox has on its shelves. Ids, prices and stock are data like any other; nothing in the shop knows them.

export type SeedLot = {
  readonly saleId: number
  readonly name: string
  readonly description: string
  readonly price: string
  readonly supply: number
  /** A lot that takes the money and then fails, so that a buyer can see a refund. */
  readonly mintReverts?: boolean
}

export const seedLots: readonly SeedLot[] = [
  {
    saleId: 391,
    name: 'Initiate Pass',
    description: 'Opens the gates of the citadel for one season.',
    price: '9.00',
    supply: 10_000,
  },
  {
    saleId: 392,
    name: 'Banner Fragment',
    description: 'A small piece of a large flag; four make a banner.',
    price: '0.25',
    supply: 100_000,
  },
  {
    saleId: 393,
    name: 'Founders Charter',
    description: 'One of fifty charters signed by the founders.',
    price: '250.00',
    supply: 50,
  },
  { saleId: 398, name: 'Sold-out Relic', description: 'Magic: this lot is always sold out.', price: '5.00', supply: 0 },
  {
    saleId: 399,
    name: 'Cursed Idol',
    description: 'Magic: its mint fails after payment, and the money comes back.',
    price: '0.50',
    supply: 1_000,
    mintReverts: true,
  },
]

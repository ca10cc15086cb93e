import type { SeedItem, SeedPlayer } from '../store/game/seed.ts'

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

export const seedItems: readonly SeedItem[] = [
  {
    id: 'keys:5',
    name: 'Five Keys',
    description: 'Five keys for five chests.',
    price: '1.50',
    stock: null,
    limitPerPlayer: null,
    levelMin: 1,
  },
  {
    id: 'a-units-pack:1',
    name: 'A-Units Pack',
    description: 'A small crew that is ready for anything.',
    price: '4.99',
    stock: null,
    limitPerPlayer: null,
    levelMin: 1,
  },
  {
    id: 'lantern:1',
    name: 'Storm Lantern',
    description: 'Burns in any weather. Only so many were made.',
    price: '0.80',
    stock: 5_000,
    limitPerPlayer: null,
    levelMin: 1,
  },
  {
    id: 'founders-cloak:1',
    name: 'Founders Cloak',
    description: 'Two for each player, and not one more.',
    price: '2.00',
    stock: 10_000,
    limitPerPlayer: 2,
    levelMin: 1,
  },
  {
    id: 'griffin-saddle:1',
    name: 'Griffin Saddle',
    description: 'For riders of level 10 and above.',
    price: '12.00',
    stock: null,
    limitPerPlayer: 1,
    levelMin: 10,
  },
  {
    id: 'phantom-blade:1',
    name: 'Phantom Blade',
    description: 'Magic: this item is always sold out.',
    price: '3.00',
    stock: 0,
    limitPerPlayer: null,
    levelMin: 1,
  },
]

export const seedPlayers: readonly SeedPlayer[] = [
  { nickname: 'Demo', level: 7, discounts: [{ itemId: 'a-units-pack:1', basisPoints: 2_000 }] },
  { nickname: 'Ada', level: 12, discounts: [{ itemId: 'keys:5', basisPoints: 1_000 }] },
  { nickname: 'Brin', level: 1 },
  { nickname: 'fail_delivery', level: 1, rehearses: 'refusal' },
  { nickname: 'slow_delivery', level: 1, rehearses: 'delay' },
  { nickname: 'flaky_delivery', level: 1, rehearses: 'stumble' },
]

/** Every value of the sandbox that makes a fault on demand, as test cards do. */
export const magicValues = [
  { value: 'fail_delivery', where: 'nickname', effect: 'paid, then the game refuses, and the money comes back' },
  { value: 'slow_delivery', where: 'nickname', effect: 'answered 202 first, delivered some seconds later' },
  { value: 'flaky_delivery', where: 'nickname', effect: 'delivery fails twice, then succeeds' },
  { value: 'phantom-blade:1', where: 'itemId', effect: 'always sold out: 409 before payment' },
  { value: '398', where: 'saleId', effect: 'always sold out: 409 before payment' },
  { value: '399', where: 'saleId', effect: 'paid, then the mint reverts, and the money comes back' },
] as const

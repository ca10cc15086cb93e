import type { ToolFace } from './face.ts'

// What a model reads of the shop before it decides to spend somebody's money. All of it is written here and reviewed here.

const DELIVERED =
  'The answer carries the receipt; if it says that delivery is still under way, poll and do not pay again.'

export const faces = {
  quoteSaleLot: {
    name: 'quote_sale_lot',
    title: 'Quote an NFT lot',
    description:
      'Free. Checks a purchase of NFTs before paying: exact price, whether it would be delivered now, and every reason why not. Take saleId from list_offers.',
    effect: 'reads',
  },
  buySaleLot: {
    name: 'buy_sale_lot',
    title: 'Buy NFTs from a sale lot',
    description: `PAID. Mints NFTs of a sale to the beneficiary wallet; this cannot be undone. Call quote_sale_lot first. ${DELIVERED}`,
    effect: 'spends',
  },
  quoteShopItem: {
    name: 'quote_shop_item',
    title: 'Quote an in-game item',
    description:
      'Free. Checks a purchase of an in-game item before paying: exact price for this player, stock, limits, and every reason why not. Take itemId from list_offers. Give exactly one of nickname and address.',
    effect: 'reads',
  },
  buyShopItem: {
    name: 'buy_shop_item',
    title: 'Buy an in-game item',
    description: `PAID. Buys copies of an in-game item for a player; this cannot be undone. Give exactly one recipient: nickname, address, or (paid by MPP) payer, the wallet that pays. Call quote_shop_item first. ${DELIVERED}`,
    effect: 'spends',
  },
  lookupPlayer: {
    name: 'lookup_player',
    title: 'Look up my player',
    description:
      'PAID 0.02 USD, by MPP only. Tells which player is linked to the wallet that pays: nickname, level and wallets.',
    effect: 'costs',
  },
  craftConfig: {
    name: 'get_craft_config',
    title: 'Craft configuration',
    description:
      'Free. What crafting needs: network, contracts, burnable collections, limits, default amount, and which approvals to give to whom.',
    effect: 'reads',
  },
  quoteCraftBurn: {
    name: 'quote_craft_burn',
    title: 'Check a burn',
    description:
      'Free. Checks craft_burn before paying: ownership, approvals, locks. Each failed check carries a transaction that the user can sign to mend it.',
    effect: 'reads',
  },
  quoteCraftAccelerate: {
    name: 'quote_craft_accelerate',
    title: 'Check an acceleration',
    description:
      'Free. Checks craft_accelerate before paying: balance, allowance, running timers. Each failed check carries a transaction that the user can sign to mend it.',
    effect: 'reads',
  },
  craftBurn: {
    name: 'craft_burn',
    title: 'Burn NFTs for crafting',
    description: `PAID 0.001 USD, by the user's own wallet. Moves 1 to 20 approved NFTs of the user to the craft controller, all or none; this cannot be undone. Call quote_craft_burn first. ${DELIVERED}`,
    effect: 'spends',
    pollWith: 'get_craft_action',
  },
  craftAccelerate: {
    name: 'craft_accelerate',
    title: 'Speed up crafting',
    description: `PAID 0.001 USD, by the user's own wallet, and charges an approved amount of craft tokens; this cannot be undone. Call quote_craft_accelerate first. ${DELIVERED}`,
    effect: 'spends',
    pollWith: 'get_craft_action',
  },
  craftAction: {
    name: 'get_craft_action',
    title: 'Craft action status',
    description:
      'Free. What became of a paid craft action: its status, transaction, timers, and a refund if there is one.',
    effect: 'reads',
  },
  reportTransaction: {
    name: 'report_transaction',
    title: 'Report a transaction',
    description: 'PAID 0.001 USD, by x402 only. Records the hash of a successful transaction for a user.',
    effect: 'costs',
  },
  checkGateway: {
    name: 'check_payment_gateway',
    title: 'Paid health probe',
    description: 'PAID 0.001 USD, by x402 only. Proves with a real settlement that paying works, and how fast.',
    effect: 'costs',
  },
} as const satisfies Record<string, ToolFace>

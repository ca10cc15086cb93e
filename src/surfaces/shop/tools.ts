import { DELIVERED, type ToolDescription } from '../../domain/tool-description.ts'

// What a model reads before it decides to spend somebody's money. All of it is written here and reviewed here.
export const toolTexts = {
  quoteShopItem: {
    name: 'quote_shop_item',
    title: 'Quote an in-game item',
    description:
      'Free. Checks a purchase of an in-game item before paying: exact price for this player, stock, limits, and every reason why not. Take itemId from list_offers. Give exactly one of nickname and address.',
    effect: 'reads',
  },
  /** `payerBy`: how a purchase for whoever pays it is paid. */
  buyShopItem: (payerBy: string) => ({
    name: 'buy_shop_item',
    title: 'Buy an in-game item',
    description: `PAID. Buys copies of an in-game item for a player; this cannot be undone. Give exactly one recipient: ${payerBy ? `nickname, address, or (paid by ${payerBy}) payer, the wallet that pays` : 'nickname or address'}. Call quote_shop_item first. ${DELIVERED}`,
    effect: 'spends',
  }),
  lookupPlayer: (paidBy: string) => ({
    name: 'lookup_player',
    title: 'Look up my player',
    description: `PAID 0.02 USD, by ${paidBy} only. Tells which player is linked to the wallet that pays: nickname and player id.`,
    effect: 'costs',
  }),
} as const satisfies Record<string, ToolDescription | ((words: string) => ToolDescription)>

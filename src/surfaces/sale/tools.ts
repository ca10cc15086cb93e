import { DELIVERED, type ToolDescription } from '../../domain/tool-description.ts'

// What a model reads before it decides to spend somebody's money. All of it is written here and reviewed here.
export const toolTexts = {
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
} as const satisfies Record<string, ToolDescription>

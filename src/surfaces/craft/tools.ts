import { DELIVERED, referenceInput, type ToolDescription } from '../../domain/tool-description.ts'

// What a model reads before it decides to spend somebody's money. All of it is written here and reviewed here.
export const toolTexts = {
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
    description: `PAID 0.001 USD, by the user's own wallet. Moves 1 to 20 NFTs of the user to the craft controller, all or none; this cannot be undone. The user approves each of them alone, never the whole collection. Call quote_craft_burn first. ${DELIVERED}`,
    effect: 'spends',
    pollWith: 'get_craft_action',
  },
  craftAccelerate: {
    name: 'craft_accelerate',
    title: 'Speed up crafting',
    description: `PAID 0.001 USD, by the user's own wallet, and charges craft tokens; this cannot be undone. The user approves just the amount that is charged. Call quote_craft_accelerate first. ${DELIVERED}`,
    effect: 'spends',
    pollWith: 'get_craft_action',
  },
  craftAction: {
    name: 'get_craft_action',
    title: 'Craft action status',
    description:
      'Free. What became of a paid craft action: its status, transaction, timers, and a refund if there is one.',
    effect: 'reads',
    input: referenceInput,
    request: ({ reference }) => ({ paymentTx: reference! }),
  },
} as const satisfies Record<string, ToolDescription>

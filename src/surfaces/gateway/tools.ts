import type { ToolDescription } from '../../domain/tool-description.ts'

// What a model reads before it decides to spend somebody's money. All of it is written here and reviewed here.
export const faces = {
  reportTransaction: (paidBy: string) => ({
    name: 'report_transaction',
    title: 'Report a transaction',
    description: `PAID 0.001 USD, by ${paidBy} only. Records the hash of a successful transaction for a user.`,
    effect: 'costs',
  }),
  checkGateway: (paidBy: string) => ({
    name: 'check_payment_gateway',
    title: 'Paid health probe',
    description: `PAID 0.001 USD, by ${paidBy} only. Proves with a real settlement that paying works, and how fast.`,
    effect: 'costs',
  }),
} as const satisfies Record<string, (paidBy: string) => ToolDescription>

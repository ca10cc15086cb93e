import type { Entry } from './command.ts'

/** What is forbidden, who runs the shop, and what they did: each is a place in the console, too. */
export const deskCommands: readonly Entry[] = [
  {
    name: 'sales list',
    summary: 'On which protocols the shop sells, and where sales are paused',
    load: () => import('./sales.ts').then(({ listSales }) => listSales),
  },
  {
    name: 'pause',
    summary: 'Sell nothing on a protocol, or on any, for now',
    load: () => import('./sales.ts').then(({ pauseCommand }) => pauseCommand),
  },
  {
    name: 'resume',
    summary: 'Sell again',
    load: () => import('./sales.ts').then(({ resumeCommand }) => resumeCommand),
  },
  {
    name: 'blocks list',
    summary: 'Payers whom nothing is sold to',
    load: () => import('./blocks.ts').then(({ listBlocks }) => listBlocks),
  },
  {
    name: 'block',
    summary: 'Sell nothing to a payer from now on',
    load: () => import('./blocks.ts').then(({ blockCommand }) => blockCommand),
  },
  {
    name: 'unblock',
    summary: 'Sell to a payer again',
    load: () => import('./blocks.ts').then(({ unblockCommand }) => unblockCommand),
  },
  {
    name: 'notes',
    summary: 'What operators wrote beside a purchase; or write something',
    load: () => import('./notes.ts').then(({ notesCommand }) => notesCommand),
  },
  {
    name: 'operators list',
    summary: 'Who runs the shop, and in which role',
    load: () => import('./operators.ts').then(({ listOperators }) => listOperators),
  },
  {
    name: 'operators add',
    summary: 'Add somebody who runs the shop; prints the link that lets them in',
    load: () => import('./operators.ts').then(({ addOperator }) => addOperator),
  },
  {
    name: 'operators link',
    summary: 'Another link that lets somebody in, once',
    load: () => import('./operators.ts').then(({ linkOperator }) => linkOperator),
  },
  {
    name: 'operators role',
    summary: 'Give somebody another role',
    load: () => import('./operators.ts').then(({ changeOperatorRole }) => changeOperatorRole),
  },
  {
    name: 'operators revoke',
    summary: 'Let somebody in no more',
    load: () => import('./operators.ts').then(({ revokeOperator }) => revokeOperator),
  },
  {
    name: 'tokens list',
    summary: 'Personal tokens that work, yours or everybody’s',
    load: () => import('./tokens.ts').then(({ listTokens }) => listTokens),
  },
  {
    name: 'tokens revoke',
    summary: 'End a personal token, and what it let in',
    load: () => import('./tokens.ts').then(({ revokeToken }) => revokeToken),
  },
  {
    name: 'approvals list',
    summary: 'Refunds that wait for a second person',
    load: () => import('./approvals.ts').then(({ listApprovalsCommand }) => listApprovalsCommand),
  },
  {
    name: 'approvals approve',
    summary: 'Approve a refund that another operator asked for',
    load: () => import('./approvals.ts').then(({ approveRefund }) => approveRefund),
  },
  {
    name: 'approvals refuse',
    summary: 'Refuse it, or take it back',
    load: () => import('./approvals.ts').then(({ refuseRefund }) => refuseRefund),
  },
  {
    name: 'audit list',
    summary: 'Who did what, newest first',
    load: () => import('./audit.ts').then(({ listAuditCommand }) => listAuditCommand),
  },
  {
    name: 'audit verify',
    summary: 'Check that the audit log is whole',
    load: () => import('./audit.ts').then(({ verifyAuditCommand }) => verifyAuditCommand),
  },
]

import * as z from 'zod'
import type { Address } from '../../base/address.ts'
import type { JsonObject } from '../../base/json.ts'
import { type ProblemCode, problems } from '../../base/problem.ts'
import { statusCodeOf, statuses } from '../../domain/order.ts'
import { railNameSchema } from '../../domain/rail.ts'
import type { Controller } from './controller.ts'
import type { CraftBounds } from './schema.ts'

/** Contract 9.1. */
export const CRAFT_VERSION = '1.1.0'

const NAME_LENGTH_MAX = 100

const errorCodes: readonly ProblemCode[] = [
  'invalid_request',
  'unknown_property',
  'duplicate_nft',
  'token_id_out_of_range',
  'quantity_out_of_range',
  'bad_checksum',
  'payment_required',
  'payer_not_user',
  'payer_blocked',
  'contract_not_allowed',
  'nft_not_owned',
  'nft_not_approved',
  'approval_too_wide',
  'nft_in_use',
  'balance_insufficient',
  'allowance_insufficient',
  'nothing_to_accelerate',
  'craft_paused',
  'payment_conflict',
  'settlement_in_doubt',
  'fulfilment_failed',
  'action_pending',
  'payment_pending',
  'payment_not_found',
]

const address = z.string().describe('EVM address')

export const craftConfigSchema = z
  .object({
    version: z.literal(CRAFT_VERSION),
    protocol: railNameSchema,
    network: z.string().describe('Chain of the tokens and the controller (CAIP-2); payments may move on another one'),
    chainId: z.int(),
    controller: z.object({ address, paused: z.boolean() }),
    craftToken: z.object({ address, symbol: z.string().nullable(), decimals: z.int().nullable() }),
    collections: z
      .array(z.object({ contract: address, name: z.string().nullable(), symbol: z.string().nullable() }))
      .describe('Collections whose tokens may be burned'),
    limits: z.object({ nftsMin: z.int(), nftsMax: z.int() }).describe('NFTs per burn'),
    burn: z.object({ craftSeconds: z.string().describe('How long the timer runs that a burn starts') }),
    accelerate: z.object({
      defaultAmount: z.string().describe('Atomic units that are charged when the request names no amount'),
      maxAmount: z.string(),
      secondsPerToken: z.string().describe('Seconds that a whole craft token takes off the running timers'),
    }),
    approvals: z
      .array(
        z.object({
          action: z.enum(['burn', 'accelerate']),
          standard: z.enum(['ERC-721', 'ERC-20']),
          contracts: z.array(address),
          spender: address,
          call: z.string(),
          description: z.string(),
        }),
      )
      .describe('What a user approves before each action, and no more: the quote has the transactions'),
    payment: z.looseObject({}).describe('Terms of each paid craft route'),
    routes: z.record(z.string(), z.string()),
    statuses: z.array(z.object({ status: z.string(), httpStatus: z.int(), isFinal: z.boolean() })),
    errors: z.array(z.object({ code: z.string(), httpStatus: z.int(), title: z.string(), action: z.string() })),
  })
  .meta({ id: 'CraftConfig', description: 'Everything an agent must know before its first craft action' })

/** What depends on the rail that is asked. */
type CraftTerms = {
  readonly protocol: string
  readonly payment: JsonObject
  readonly routes: Readonly<Record<string, string>>
}

export type CraftConfig = (terms: CraftTerms) => Promise<JsonObject>

/** The configuration document. Whatever the operator can change on the chain is read from there, each time. */
export function craftConfig(controller: Controller, bounds: CraftBounds): CraftConfig {
  const { contract, chainId, read } = controller
  return async ({ protocol, payment, routes }) => {
    const token = await controller.token()
    const [listed, paused, craftSeconds, secondsPerToken, symbol, decimals] = await read(
      [
        contract.question('collections', []),
        contract.question('paused', []),
        contract.question('craftSeconds', []),
        contract.question('secondsPerToken', []),
        token.question('symbol', []),
        token.question('decimals', []),
      ],
      'latest',
    )
    const collections = listed ?? []
    return {
      version: CRAFT_VERSION,
      protocol,
      network: `eip155:${chainId}`,
      chainId,
      controller: { address: contract.address, paused: paused !== false },
      craftToken: { address: token.address, symbol: shortened(symbol), decimals },
      collections: await named(controller, collections),
      limits: { nftsMin: 1, nftsMax: bounds.nftsMax },
      burn: { craftSeconds: String(craftSeconds ?? 0n) },
      accelerate: {
        defaultAmount: bounds.defaultAmount.toString(),
        maxAmount: bounds.maxAmount.toString(),
        secondsPerToken: String(secondsPerToken ?? 0n),
      },
      approvals: approvalsFor(contract.address, token.address, collections),
      payment,
      routes,
      statuses: statuses.map((status) => {
        const httpStatus = statusCodeOf(status)
        return { status, httpStatus, isFinal: httpStatus === 200 }
      }),
      errors: errorCodes.map((code) => {
        const { status, title, action } = problems[code]
        return { code, httpStatus: status, title, action }
      }),
    }
  }
}

async function named({ collectionAt, read }: Controller, collections: readonly Address[]) {
  const names = await read(
    collections.flatMap((listed) => {
      const collection = collectionAt(listed)
      return [collection.question('name', []), collection.question('symbol', [])]
    }),
    'latest',
  )
  return collections.map((contract, index) => ({
    contract,
    name: shortened(names[index * 2] ?? null),
    symbol: shortened(names[index * 2 + 1] ?? null),
  }))
}

/** Text of other people's contracts, at a length that cannot crowd out the rest of the document. */
function shortened(text: string | null): string | null {
  return text === null ? null : text.slice(0, NAME_LENGTH_MAX)
}

function approvalsFor(controller: Address, token: Address, collections: readonly Address[]) {
  return [
    {
      action: 'burn',
      standard: 'ERC-721',
      contracts: collections,
      spender: controller,
      call: 'approve(address to, uint256 tokenId)',
      description:
        'Approve the craft controller for each token alone. An approval of all tokens does not count as consent.',
    },
    {
      action: 'accelerate',
      standard: 'ERC-20',
      contracts: [token],
      spender: controller,
      call: 'approve(address spender, uint256 amount)',
      description:
        'Approve the craft controller for exactly the amount it shall charge. It can send tokens nowhere else.',
    },
  ]
}

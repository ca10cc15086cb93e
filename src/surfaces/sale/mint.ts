import { type Address, sameAddress } from '../../base/address.ts'
import type { Alarm } from '../../base/alarm.ts'
import type { Clock } from '../../base/clock.ts'
import { type Hex, toHex } from '../../base/hex.ts'
import type { JsonObject } from '../../base/json.ts'
import { keccak256 } from '../../base/keccak.ts'
import { Problem } from '../../base/problem.ts'
import { readCode } from '../../chain/code.ts'
import { decodeEventLog, OUT_OF_BUDGET, Reverted } from '../../chain/contract.ts'
import type { Receipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { Limits } from '../../config/limits.ts'
import type { Buyer, Delivery } from '../../domain/good.ts'
import { deliverOnce, orderKey } from '../../outbox/deliver-once.ts'
import type { Sender } from '../../outbox/sender.ts'
import type { KeyRight } from '../surface.ts'
import { type SaleContract, saleAbi } from './lots.ts'
import type { SaleBuy } from './schema.ts'

export type MintOptions = {
  readonly contract: SaleContract
  readonly rpc: Rpc
  readonly minter: Sender
  readonly clock: Clock
  readonly delivery: Limits['delivery']
  readonly alarm: Alarm
}

/**
 * Measured: 217,000 for the first token and 47,600 for each, of which the rest is
 * room for what a receiver's own code does with a token that arrives. Chains take no transaction of more than 16.7 million.
 */
const GAS_BASE = 260_000n
const GAS_PER_NFT = 100_000n
const GAS_MAX = 16_000_000n

/** What a delivery may cost, and the limit it is signed with. */
export function gasMaxOf({ quantity }: Pick<SaleBuy, 'quantity'>): bigint {
  const gas = GAS_BASE + GAS_PER_NFT * BigInt(quantity)
  return gas < GAS_MAX ? gas : GAS_MAX
}

/** A mint that would fail is refused while it is free: a beneficiary without a receiver, a paused contract. */
export async function mintProblem(options: MintOptions, input: SaleBuy): Promise<Problem | null> {
  const { contract, minter, clock } = options
  const trialKey = orderKey(`trial ${clock.now()} ${input.beneficiary}`)
  try {
    await contract.simulate(await minter.terms(gasMaxOf(input)), mintCall(contract, trialKey, input))
    return null
  } catch (error) {
    if (!(error instanceof Reverted)) throw error
    // What a call reverts with may be the words of whoever receives; whether the fault is ours, the contract itself says.
    await assertOpen(options)
    return refusalOf(error, input)
  }
}

/** Refuses before money moves when the contract is closed to us: that is no buyer's fault, and a person must mend it. */
export async function assertOpen(options: MintOptions): Promise<void> {
  const fault = await faultOf(options)
  if (fault) throw closedBy(options, fault)
}

/** The same for whoever has just read that it is paused. */
export function pausedProblem(options: MintOptions): Problem {
  return closedBy(options, PAUSED)
}

function closedBy({ contract, minter, alarm }: MintOptions, { what, words, fix, told }: Fault): Problem {
  alarm(what, words, { contract: contract.address, minter: minter.address, fix })
  return new Problem('surface_closed', `${told}; nothing was taken.`, { afterSeconds: CLOSED_SECONDS })
}

const CLOSED_SECONDS = 60

type Fault = { readonly what: string; readonly words: string; readonly fix: string; readonly told: string }

const PAUSED: Fault = {
  what: 'paused',
  words: 'the sale contract is paused; no lot is sold',
  fix: 'unpause the sale contract',
  told: 'The sale contract is paused',
}
const NO_ROLE: Fault = {
  what: 'role',
  words: 'the minter lacks its role on the sale contract; no lot is sold',
  fix: 'grant MINTER_ROLE to the minter, or configure the key that has it',
  told: 'The shop may not mint right now',
}

async function faultOf(options: MintOptions, block?: bigint): Promise<Fault | null> {
  const { contract, minter } = options
  const [isPaused, isMinter] = await Promise.all([
    contract.read('paused', [], block),
    contract.read('hasRole', [MINTER_ROLE, minter.address], block),
  ])
  if (isPaused) return PAUSED
  return isMinter ? null : NO_ROLE
}

export async function minterRight({ contract, minter }: MintOptions): Promise<KeyRight> {
  const has = await contract.read('hasRole', [MINTER_ROLE, minter.address])
  return { address: minter.address, name: 'MINTER_ROLE', has }
}

/** Has the contract minted for this order? */
export async function isMinted({ contract }: MintOptions, orderId: string): Promise<boolean> {
  const [, , , firstTokenId] = await contract.read('orderOf', [orderKey(orderId)])
  return firstTokenId !== 0n
}

/** Mints what was bought, once per order. */
export function mint(options: MintOptions, input: SaleBuy, buyer: Buyer): Promise<Delivery> {
  const { orderId, settledAt, lease, isUntried } = buyer
  const { contract, rpc, minter, clock, delivery } = options
  const key = orderKey(orderId)
  const data = mintCall(contract, key, input)
  return deliverOnce(minter, clock, {
    orderId,
    step: 'mint',
    lease,
    isUntried,
    to: contract.address,
    data,
    closing: contract.encode('closeOrder', [key]),
    gasMax: gasMaxOf(input),
    deadline: settledAt + delivery.mintMs,
    retryMs: delivery.retryMs,
    trial: (terms) => contract.simulate(terms, data),
    async recall() {
      const [, quantity, , firstTokenId] = await contract.read('orderOf', [key])
      return firstTokenId === 0n ? null : minted(contract.address, firstTokenId, quantity)
    },
    hasGivenUp: () => contract.read('isClosed', [key]),
    read: (receipt) => mintedIn(receipt, contract.address, key),
    isClosed: async (block) => (await faultOf(options, block)) !== null,
    // A key that delegated when the block began may have stopped before it ended.
    async mayBeBuyers(block) {
      const codes = await Promise.all([block - 1n, block].map((at) => readCode(rpc, input.beneficiary, at)))
      return codes.some((code) => code !== '0x')
    },
    meaningOf(refusal) {
      // A lot that closes or a price that moves cannot get here: the contract enforces neither.
      const { code, message } = refusalOf(refusal, input)
      return { code, detail: message }
    },
  })
}

function mintCall(contract: SaleContract, key: Hex, { saleId, quantity, beneficiary }: SaleBuy): Hex {
  return contract.encode('mint', [key, BigInt(saleId), BigInt(quantity), beneficiary])
}

const MINTER_ROLE = toHex(keccak256(Buffer.from('MINTER_ROLE')))

function refusalOf({ reason }: Reverted, { saleId, beneficiary }: SaleBuy): Problem {
  if (reason === 'SupplyExceeded')
    return new Problem('sold_out', `Too few of lot ${saleId} are left; nothing was taken.`)
  if (reason === 'UnknownLot') return new Problem('sale_not_found', `There is no sale ${saleId}.`)
  if (reason === OUT_OF_BUDGET)
    return new Problem(
      'beneficiary_rejects',
      `Handing it to ${beneficiary} takes more gas than a delivery may cost; choose a wallet, or buy fewer at once.`,
    )
  return new Problem(
    'beneficiary_rejects',
    `${beneficiary} cannot receive this NFT (${reason}); choose a wallet, or a contract that accepts ERC-721 tokens.`,
  )
}

function mintedIn(receipt: Receipt, contract: Address, key: Hex): JsonObject | null {
  for (const log of receipt.logs) {
    if (!sameAddress(log.address, contract)) continue
    const event = decodeEventLog(saleAbi, log)
    if (event?.eventName !== 'LotMinted' || event.args.orderId !== key) continue
    return minted(contract, event.args.firstTokenId, event.args.quantity)
  }
  return null
}

function minted(contract: Address, firstTokenId: bigint, quantity: bigint): JsonObject {
  const nfts = Array.from({ length: Number(quantity) }, (_, index) => ({
    contract,
    tokenId: (firstTokenId + BigInt(index)).toString(),
  }))
  return { nfts }
}

import { type Address, sameAddress } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import { type Hex, toHex } from '../../base/hex.ts'
import type { JsonObject } from '../../base/json.ts'
import { keccak256 } from '../../base/keccak.ts'
import { rangeOf, times, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import { codeSuspects, readCode } from '../../chain/code.ts'
import { decodeEventLog, OUT_OF_BUDGET, Reverted } from '../../chain/contract.ts'
import { deliverOnce, orderKey } from '../../chain/deliver-once.ts'
import type { Receipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { Sender } from '../../chain/sender.ts'
import type { Limits } from '../../config/limits.ts'
import type { Good, Hold, LivePrice } from '../../domain/good.ts'
import { type Lot, type Lots, type SaleContract, saleAbi, stateOf } from './lots.ts'
import type { SaleBuy } from './schema.ts'

export type SaleOptions = {
  readonly contract: SaleContract
  readonly rpc: Rpc
  readonly lots: Lots
  readonly minter: Sender
  readonly clock: Clock
  readonly delivery: Limits['delivery']
  /** Addresses that hold the shop's own money or code: a beneficiary among them is a mistake. */
  readonly ownAddresses: readonly Address[]
  /** What speaks against this payer, whatever they buy. */
  readonly payerProblem: (payer: Address) => Problem | null
}

/**
 * What a delivery may cost, and the limit it is signed with. Measured: 217,000 for the first token and 47,600 for each, of which the rest is
 * room for what a receiver's own code does with a token that arrives. Chains take no transaction of more than 16.7 million.
 */
const GAS_BASE = 260_000n
const GAS_PER_NFT = 100_000n
const GAS_MAX = 16_000_000n
const MINTER_ROLE = toHex(keccak256(Buffer.from('MINTER_ROLE')))
const gasMaxOf = ({ quantity }: SaleBuy): bigint => {
  const gas = GAS_BASE + GAS_PER_NFT * BigInt(quantity)
  return gas < GAS_MAX ? gas : GAS_MAX
}

export function saleLot(options: SaleOptions): Good<SaleBuy> {
  const { contract, rpc, lots, minter, clock, delivery, ownAddresses, payerProblem } = options

  const mintCall = (key: Hex, { saleId, quantity, beneficiary }: SaleBuy): Hex =>
    contract.encode('mint', [key, BigInt(saleId), BigInt(quantity), beneficiary])

  function supplyHold(lot: Lot, own: bigint, quantity: number): Hold {
    return {
      resource: `lot:${contract.address.toLowerCase()}:${lot.saleId}`,
      quantity: BigInt(quantity),
      // What others minted is gone; what we minted is among our own holds, which are kept for ever.
      limit: lot.supply - (lot.minted - own),
      used: own,
      keptWhenDelivered: true,
      refusal: { code: 'sold_out', detail: `Fewer than ${quantity} of lot ${lot.saleId} are left; nothing was taken.` },
    }
  }

  /** A mint that would fail is refused while it is free: a beneficiary without a receiver, a paused contract. */
  async function trialProblem(input: SaleBuy): Promise<Problem | null> {
    const trialKey = orderKey(`trial ${clock.now()} ${input.beneficiary}`)
    try {
      await contract.simulate(await minter.terms(gasMaxOf(input)), mintCall(trialKey, input))
      return null
    } catch (error) {
      if (error instanceof Reverted) return refusalOf(error, input)
      throw error
    }
  }

  /** A plain key refuses nothing; whatever else receives may do so when it costs us, in this lot and in the next. */
  async function suspectsOf({ beneficiary }: SaleBuy): Promise<readonly string[]> {
    const code = await readCode(rpc, beneficiary)
    return code === '0x' ? [] : [`receiver:${beneficiary}`, ...codeSuspects(code)]
  }

  async function isClosed(block?: bigint): Promise<boolean> {
    const [isPaused, isMinter] = await Promise.all([
      contract.read('paused', [], block),
      contract.read('hasRole', [MINTER_ROLE, minter.address], block),
    ])
    return isPaused || !isMinter
  }

  return {
    name: 'saleLot',
    surface: 'sale',
    subject: 'order',

    async check(input, payer) {
      const isOwn = ownAddresses.some((own) => sameAddress(own, input.beneficiary))
      const [standing, suspects] = await Promise.all([lots.standing(input.saleId, minter.address), suspectsOf(input)])
      const sale = saleProblem(standing?.lot ?? null, input, clock.now())
      const findings = [
        { check: 'payer', problem: payer && payerProblem(payer) },
        { check: 'sale', problem: sale },
        {
          check: 'beneficiary',
          problem: isOwn
            ? new Problem('invalid_beneficiary', 'The beneficiary is an address of the shop itself.')
            : null,
        },
      ]
      if (!standing || sale) return { findings, plan: {}, holds: [] }
      await minter.assertFunded(gasMaxOf(input))
      await minter.assertClear()
      const hold = supplyHold(standing.lot, standing.own, input.quantity)
      const mint = { check: 'mint', problem: await trialProblem(input) }
      return { findings: [...findings, mint], plan: {}, holds: [hold], suspects }
    },

    async deliver(input, _plan, { orderId, settledAt, lease }) {
      const key = orderKey(orderId)
      const data = mintCall(key, input)
      return deliverOnce(minter, clock, {
        orderId,
        step: 'mint',
        lease,
        to: contract.address,
        data,
        gasMax: gasMaxOf(input),
        deadline: settledAt + delivery.mintMs,
        retryMs: delivery.retryMs,
        trial: (terms) => contract.simulate(terms, data),
        async recall() {
          const [, quantity, , firstTokenId] = await contract.read('orderOf', [key])
          return firstTokenId === 0n ? null : minted(contract.address, firstTokenId, quantity)
        },
        read: (receipt) => mintedIn(receipt, contract.address, key),
        isClosed: (block) => isClosed(block),
        suspects: () => suspectsOf(input),
        meaningOf(refusal) {
          // A lot that closes or a price that moves cannot get here: the contract enforces neither.
          const { code, message } = refusalOf(refusal, input)
          return { code, detail: message }
        },
      })
    },
  }
}

export function salePrice(lots: Lots, clock: Clock): LivePrice<SaleBuy> {
  return {
    kind: 'live',
    async of(input) {
      const lot = (await lots.recent()).get(input.saleId) ?? null
      const problem = saleProblem(lot, input, clock.now())
      if (!lot || problem) throw problem
      return times(lot.unitPrice, input.quantity)
    },
    async was({ saleId, quantity }, price, since) {
      const each = price / BigInt(quantity)
      return each * BigInt(quantity) === price && lots.priceWas(saleId, usd(each), since)
    },
    async range() {
      const open = [...(await lots.recent()).values()].filter((lot) => stateOf(lot, clock.now()) === 'open')
      return rangeOf(open.map(({ unitPrice }) => unitPrice))
    },
  }
}

function saleProblem(lot: Lot | null, { saleId, quantity }: SaleBuy, nowMs: number): Problem | null {
  if (!lot) return new Problem('sale_not_found', `There is no sale ${saleId}; read /catalog for those that are open.`)
  const left = lot.supply - lot.minted
  switch (stateOf(lot, nowMs)) {
    case 'open':
      return left < BigInt(quantity)
        ? new Problem('sold_out', `Only ${left} of lot ${saleId} are left; nothing was taken.`)
        : null
    case 'sold_out':
      return new Problem('sold_out', `Lot ${saleId} is sold out; nothing was taken.`)
    case 'paused':
      return new Problem('sale_not_active', 'The sale contract is paused; nothing was taken.')
    case 'closed':
      return new Problem('sale_not_active', `Sale ${saleId} is closed; nothing was taken.`)
    case 'not_yet':
      return new Problem('sale_not_active', `Sale ${saleId} is not open yet; nothing was taken.`)
  }
}

function refusalOf({ reason }: Reverted, { saleId, beneficiary }: SaleBuy): Problem {
  if (reason === 'SupplyExceeded')
    return new Problem('sold_out', `Too few of lot ${saleId} are left; nothing was taken.`)
  if (reason === 'UnknownLot') return new Problem('sale_not_found', `There is no sale ${saleId}.`)
  if (reason === 'EnforcedPause')
    return new Problem('sale_not_active', 'The sale contract is paused; nothing was taken.')
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

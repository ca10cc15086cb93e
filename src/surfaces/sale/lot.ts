import { type Address, sameAddress } from '../../base/address.ts'
import { rangeOf, times } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import { whenThere } from '../../base/when-there.ts'
import { readCode } from '../../chain/code.ts'
import type { Good, Hold, LivePrice } from '../../domain/good.ts'
import type { PayerProblem } from '../surface.ts'
import { type Lot, type Lots, lotStateOf, type SaleContract } from './lots.ts'
import { gasMaxOf, isMinted, type MintOptions, mint, mintProblem, pausedProblem } from './mint.ts'
import type { SaleBuy } from './schema.ts'

type SaleOptions = MintOptions & {
  readonly lots: Lots
  /** Addresses that hold the shop's own money or code: a beneficiary among them is a mistake. */
  readonly ownAddresses: readonly Address[]
  /** What speaks against this payer, whatever they buy. */
  readonly payerProblem: (payer: Address) => PayerProblem
}

export function saleLot(options: SaleOptions): Good<SaleBuy> {
  const { contract, rpc, lots, minter, ownAddresses, payerProblem } = options

  function beneficiaryProblem({ beneficiary }: SaleBuy): Problem | null {
    const isOwn = ownAddresses.some((own) => sameAddress(own, beneficiary))
    return isOwn ? new Problem('invalid_beneficiary', 'The beneficiary is an address of the shop itself.') : null
  }

  return {
    name: 'saleLot',
    surface: 'sale',
    subject: 'order',

    async check(input, payer) {
      // Begun with the other questions, so that they go out together, and listened to only when nothing else speaks against the purchase.
      const trial = mintProblem(options, input)
      trial.catch(() => {})
      const [standing, code] = await Promise.all([lots.standing(input.saleId), readCode(rpc, input.beneficiary)])
      const sale = saleProblem(options, standing?.lot ?? null, input)
      const findings = [
        { check: 'payer', problem: payer && (await payerProblem(payer)) },
        { check: 'sale', problem: sale },
        { check: 'beneficiary', problem: beneficiaryProblem(input) },
      ]
      if (!standing || sale) return { findings, plan: {}, holds: [] }
      await minter.assertFunded(gasMaxOf(input))
      await minter.assertClear()
      const hold = supplyHold(contract, standing, input.quantity)
      const gasAtRisk = code === '0x' ? 0n : gasMaxOf(input)
      return { findings: [...findings, { check: 'mint', problem: await trial }], plan: {}, holds: [hold], gasAtRisk }
    },

    recall: async (_input, orderId) => ((await isMinted(options, orderId)) ? {} : null),
    deliver: (input, _plan, buyer) => mint(options, input, buyer),
  }
}

type Standing = NonNullable<Awaited<ReturnType<Lots['standing']>>>

function supplyHold(contract: SaleContract, { lot, own }: Standing, quantity: number): Hold {
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

export function salePrice(options: Pick<SaleOptions, 'lots' | keyof MintOptions>): LivePrice<SaleBuy> {
  const { lots, clock } = options
  return {
    kind: 'live',
    of: (input) =>
      whenThere(lots.recent(), (recent) => {
        const lot = recent.get(input.saleId) ?? null
        const problem = saleProblem(options, lot, input)
        if (!lot || problem) throw problem
        return times(lot.unitPrice, input.quantity)
      }),
    async range() {
      const open = [...(await lots.recent()).values()].filter((lot) => lotStateOf(lot, clock.now()) === 'open')
      return rangeOf(open.map(({ unitPrice }) => unitPrice))
    },
  }
}

/** What stands against this purchase. What stands against all of them is thrown. */
function saleProblem(options: MintOptions, lot: Lot | null, { saleId, quantity }: SaleBuy): Problem | null {
  if (!lot) return new Problem('sale_not_found', `There is no sale ${saleId}; read /catalog for those that are open.`)
  const left = lot.supply - lot.minted
  switch (lotStateOf(lot, options.clock.now())) {
    case 'paused':
      throw pausedProblem(options)
    case 'open':
      return left < BigInt(quantity)
        ? new Problem('sold_out', `Only ${left} of lot ${saleId} are left; nothing was taken.`)
        : null
    case 'sold_out':
      return new Problem('sold_out', `Lot ${saleId} is sold out; nothing was taken.`)
    case 'closed':
      return new Problem('sale_not_active', `Sale ${saleId} is closed; nothing was taken.`)
    case 'not_yet':
      return new Problem('sale_not_active', `Sale ${saleId} is not open yet; nothing was taken.`)
  }
}

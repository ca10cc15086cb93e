import { type Address, sameAddress } from '../../base/address.ts'
import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { Question } from '../../chain/contract.ts'
import type { Finding, Good, Hold } from '../../domain/good.ts'
import {
  type Action,
  assertReady,
  type Craft,
  deliverAction,
  isCarriedOut,
  pausedFinding,
  payerFinding,
  trialProblem,
  withExecution,
} from './action.ts'
import { type Burn, type Nft, nftName } from './schema.ts'

/** Measured with a plain collection: 305,000 for the first token and 15,000 for each further one. Collections that keep lists take up to 120,000. */
const GAS_BASE = 350_000n
const GAS_PER_NFT = 120_000n

/** Transfers 1 to 20 approved tokens of the payer to the craft controller, all or none, and starts a crafting timer. */
export function burnGood(craft: Craft): Good<Burn> {
  const { controller, holds } = craft
  const { contract, chainId } = controller

  const actionOf = ({ user, nfts }: Burn): Action => ({
    gasMax: GAS_BASE + GAS_PER_NFT * BigInt(nfts.length),
    call(key) {
      const taken = nfts.map((nft) => ({ collection: nft.contract, tokenId: BigInt(nft.tokenId) }))
      return contract.encode('burn', [key, user, taken])
    },
  })

  return {
    name: 'burn',
    surface: 'craft',
    subject: 'craft.action',
    payerActs: true,

    async check(input, payer) {
      const { user, nfts } = input
      await assertReady(craft, actionOf(input))
      const locks = nfts.map((nft) => `nft:${chainId}:${nftName(nft)}`)
      // Read before the chain: when another action on one of these tokens ends in between, whatever we read of it is stale.
      const versions = await holds.versions(locks)
      const [{ isPaused, tokens }, held, trial] = await Promise.all([
        readTokens(craft, user, nfts),
        holds.held(locks),
        trialProblem(craft, actionOf(input)),
      ])
      const inUse = new Set(held.map(({ resource }) => resource))
      const asked = [
        await payerFinding(craft, user, payer),
        collectionFinding(tokens),
        ownershipFinding(tokens, user),
        ...approvalFindings(craft, tokens),
        lockFinding(tokens.filter(({ index }) => inUse.has(locks[index]!))),
        pausedFinding(isPaused),
      ]
      return {
        findings: withExecution(asked, trial),
        plan: {},
        holds: locks.map((resource): Hold => lockHold(resource, versions.get(resource))),
      }
    },

    recall: async (_input, orderId) => ((await isCarriedOut(craft, orderId)) ? {} : null),
    deliver: (input, _plan, buyer) => deliverAction(craft, buyer, actionOf(input)),
  }
}

/** A token of the request and what the chain says of it. Nothing is asked of a collection that is not on the list. */
type Token = {
  readonly index: number
  readonly nft: Nft
  readonly isListed: boolean
  readonly isOwned: boolean
  /** On its own, for the controller. */
  readonly isApproved: boolean
  readonly isApprovedWithAll: boolean
}

async function readTokens({ controller }: Craft, user: Address, nfts: readonly Nft[]) {
  const { contract, read } = controller
  const [collections, paused] = await read(
    [contract.question('collections', []), contract.question('paused', [])],
    'latest',
  )
  const isListed = (nft: Nft) => (collections ?? []).some((listed) => sameAddress(listed, nft.contract))
  // A stranger's contract could answer with endless work and so spoil the answers of all the others.
  const listed = nfts.filter(isListed)
  const answers = await read(
    listed.flatMap((nft) => questionsAbout(controller, nft, user)),
    'latest',
  )
  const tokens = nfts.map((nft, index): Token => {
    const place = listed.indexOf(nft)
    if (place === -1)
      return { index, nft, isListed: false, isOwned: false, isApproved: false, isApprovedWithAll: false }
    const [isOwned, isApproved, isApprovedWithAll] = answers.slice(place * 3, place * 3 + 3)
    return {
      index,
      nft,
      isListed: true,
      isOwned: isOwned === true,
      isApproved: isApproved === true,
      isApprovedWithAll: isApprovedWithAll === true,
    }
  })
  return { isPaused: paused !== false, tokens }
}

function questionsAbout(
  { address, collectionAt }: Craft['controller'],
  { contract, tokenId }: Nft,
  user: Address,
): readonly Question<boolean>[] {
  const collection = collectionAt(contract)
  const names = (question: Question<Address>, who: Address): Question<boolean> => ({
    ...question,
    decode: (data) => sameAddress(question.decode(data), who),
  })
  return [
    names(collection.question('ownerOf', [BigInt(tokenId)]), user),
    names(collection.question('getApproved', [BigInt(tokenId)]), address),
    collection.question('isApprovedForAll', [user, address]),
  ]
}

function collectionFinding(tokens: readonly Token[]): Finding {
  const strange = tokens.filter(({ isListed }) => !isListed)
  return {
    check: 'collection',
    problem: problemOf('contract_not_allowed', strange, 'of a collection that cannot be burned here'),
  }
}

function ownershipFinding(tokens: readonly Token[], user: Address): Finding {
  const foreign = tokens.filter(({ isListed, isOwned }) => isListed && !isOwned)
  return { check: 'ownership', problem: problemOf('nft_not_owned', foreign, `not owned by ${user}`) }
}

const NOT_APPROVED = { code: 'nft_not_approved', detail: 'is not approved for the craft controller' } as const
const TOO_WIDE = { code: 'approval_too_wide', detail: 'is approved only together with all of its collection' } as const

/**
 * One for each token that its owner has not approved alone. A payment may have been signed for another site, which hands it on: so it is no consent
 * to lose a token, and neither is an approval of all tokens, which may be old and was not given for this one.
 */
function approvalFindings({ controller }: Craft, tokens: readonly Token[]) {
  const needy = tokens.filter(({ isOwned, isApproved }) => isOwned && !isApproved)
  const errors = needy.map(({ index, isApprovedWithAll }) => ({
    pointer: `/nfts/${index}`,
    ...(isApprovedWithAll ? TOO_WIDE : NOT_APPROVED),
  }))
  const findings = needy.map(({ index, nft }, place): Finding => {
    const { code, detail } = errors[place]!
    const { call, fix } = approvalOf(controller, nft)
    const problem = new Problem(code, `nfts[${index}] ${detail}; sign ${call}.`, { errors, members: { fix } })
    return { check: 'approval', problem, fix }
  })
  return findings.length > 0 ? findings : [{ check: 'approval', problem: null }]
}

function approvalOf({ address, collectionAt }: Craft['controller'], { contract, tokenId }: Nft) {
  const call = `approve(${address}, ${tokenId})`
  const data = collectionAt(contract).encode('approve', [address, BigInt(tokenId)])
  return { call, fix: { to: contract, data, description: `${call}: lets the craft controller take this NFT` } }
}

function lockFinding(locked: readonly Token[]): Finding {
  return { check: 'lock', problem: problemOf('nft_in_use', locked, 'in another action that has not ended yet') }
}

function lockHold(resource: string, seenVersion: bigint | undefined): Hold {
  return {
    resource,
    quantity: 1n,
    limit: 1n,
    seenVersion,
    refusal: { code: 'nft_in_use', detail: 'An NFT is in another action that has not ended yet.' },
  }
}

function problemOf(code: ProblemCode, tokens: readonly Token[], words: string): Problem | null {
  const [first, ...others] = tokens
  if (!first) return null
  const errors = tokens.map(({ index }) => ({ pointer: `/nfts/${index}`, code, detail: `is ${words}` }))
  const subject = others.length === 0 ? `nfts[${first.index}] is` : `nfts[${first.index}] and ${others.length} more are`
  return new Problem(code, `${subject} ${words}.`, { errors })
}

import { tempo } from 'mppx/server'
import { TxEnvelopeTempo } from 'ox/tempo'
import { type Chain, createClient, custom, decodeFunctionData, keccak256, parseAbi } from 'viem'
import * as chains from 'viem/tempo/chains'
import { type Address, checksumAddress, type Hash, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import { contractAt } from '../../chain/contract.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { isBoundTo } from './memo.ts'
import { provenSender } from './signer.ts'
import type { MppCredential } from './wire.ts'

/** mppx asks this process's clock whether a challenge has expired; the shop's own clock was asked before, and decides. */
const NEVER = '9999-12-31T23:59:59.000Z'

/** A signed transaction that mppx found to pay the challenge: who signed it, and how it will be known on the chain. */
export type VerifiedTransaction = {
  /** Signed by a key that may spend for the sender, and not by the sender's own. */
  readonly isAccessKey: boolean
  readonly sender: Address
  readonly raw: Hex
  readonly hash: Hash
  readonly memo: Hex
  /** In milliseconds; the chain refuses the transaction afterwards, and before. */
  readonly validBefore: number | null
  readonly validAfter: number | null
  readonly maxFeePerGas: bigint
  /** How far its nonce is from the next one of its account and lane: a transaction behind a gap waits for ever. */
  readonly nonceGap: bigint
}

export type TransactionVerifier = {
  verify(credential: MppCredential): Promise<VerifiedTransaction>
  /** What its payer can be found by on the chain, whether it pays or not. Null: nobody can read it, so it never landed. */
  signedTransferIn(credential: MppCredential): Promise<SignedTransfer | null>
}

/** Null for what it does not show. */
type SignedTransfer = { readonly hash: Hash; readonly memo: Hex | null; readonly sender: Address | null }

/**
 * mppx as verifier: it decodes the calls, checks them against the challenge and simulates them. Whether there is still time to pay is for
 * the caller to judge. Loading it and `viem/tempo` takes more than a second, in which nothing else happens: production does so before it
 * listens, and a sandbox when the first payment comes.
 */
export function createTransactionVerifier(options: {
  rpc: Rpc
  recipient: Address
  currency: Address
}): TransactionVerifier {
  const { rpc, recipient, currency } = options
  const chain = Object.values(chains as Record<string, Chain>).find(({ id }) => id === rpc.chainId)
  if (!chain) throw new Error(`chain ${rpc.chainId} is not a Tempo chain that this version knows`)
  const transport = custom(
    { request: ({ method, params }) => rpc.request(method, params as unknown[]) },
    { retryCount: 0 },
  )
  const client = createClient({ chain, transport })
  const method = tempo.charge({ recipient, currency, getClient: () => client })

  async function verify({ challenge, request, proof }: MppCredential): Promise<VerifiedTransaction> {
    if (proof.mode !== 'pull') throw new TypeError('only a signed transaction can be verified before it is sent')
    const credential = {
      challenge: { ...challenge, request, expires: NEVER },
      payload: { type: 'transaction', signature: proof.raw },
    }
    const { sender: named } = await validate(credential, request)
    const { transaction, raw, hash } = canonicalOf(proof.raw)
    // mppx tried the calls out in the name that the transaction goes by; whether that is its signer's is found out here.
    const { sender, isAccessKey } = await provenSender(rpc, transaction)
    if (!sameAddress(sender, named))
      throw new Problem('payment_verification_failed', `The transaction goes by ${named}, and ${sender} signed it.`)
    const memo = memoOf(transaction.calls, challenge.realm, challenge.id)
    const { validBefore, validAfter, maxFeePerGas = 0n, nonce = 0n, nonceKey = 0n } = transaction
    return {
      sender: checksumAddress(sender),
      isAccessKey,
      raw,
      hash,
      memo,
      validBefore: milliseconds(validBefore),
      validAfter: milliseconds(validAfter),
      maxFeePerGas,
      nonceGap: nonce - (await nextNonce(rpc, sender, nonceKey)),
    }
  }

  async function signedTransferIn({ challenge, proof }: MppCredential): Promise<SignedTransfer | null> {
    if (proof.mode !== 'pull') throw new TypeError('only a signed transaction has a transfer in it')
    const canonical = readable(proof.raw)
    if (canonical === null) return null
    const { transaction, hash } = canonical
    const memo = memoAmong(transaction.calls, challenge.realm, challenge.id)
    const proven = await provenSender(rpc, transaction).catch((error: unknown) => {
      if (isProblem(error, 'payment_verification_failed')) return null
      throw error
    })
    return { hash, memo, sender: proven && checksumAddress(proven.sender) }
  }

  return { verify, signedTransferIn }

  async function validate(credential: unknown, request: unknown): Promise<{ sender: Address }> {
    try {
      const { details } = await method.validate!({ credential, request } as Parameters<
        NonNullable<typeof method.validate>
      >[0])
      return details as unknown as { sender: Address }
    } catch (error) {
      throw problemOf(error)
    }
  }
}

type Canonical = { readonly transaction: TxEnvelopeTempo.TxEnvelopeTempo; readonly raw: Hex; readonly hash: Hash }

/**
 * The canonical bytes, not the payload's: a signature has several spellings, and the chain knows the transaction by one hash. Each reading
 * recovers a signer in plain JavaScript, milliseconds of a purchase, so it is read once.
 */
function canonicalOf(signed: Hex): Canonical {
  const transaction = TxEnvelopeTempo.deserialize(signed as TxEnvelopeTempo.Serialized)
  const raw = TxEnvelopeTempo.serialize(transaction)
  return { transaction, raw, hash: keccak256(raw) }
}

function readable(signed: Hex): Canonical | null {
  try {
    return canonicalOf(signed)
  } catch {
    return null
  }
}

function milliseconds(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000
}

/** Transactions of this lane have no order: each has the nonce 0, and an end. */
const EXPIRING_LANE = 2n ** 256n - 1n
const NONCE_MANAGER = '0x4e4F4E4345000000000000000000000000000000'
const nonceAbi = parseAbi(['function getNonce(address account, uint256 nonceKey) view returns (uint64)'])

async function nextNonce(rpc: Rpc, account: Address, lane: bigint): Promise<bigint> {
  if (lane === EXPIRING_LANE) return 0n
  if (lane === 0n) return BigInt(await rpc.request<Hex>('eth_getTransactionCount', [account, 'latest']))
  return contractAt(rpc, NONCE_MANAGER, nonceAbi).read('getNonce', [account, lane])
}

type Calls = readonly { data?: Hex | undefined }[]

function memoAmong(calls: Calls, realm: string, challengeId: string): Hex | null {
  for (const { data } of calls) {
    if (data === undefined) continue
    const memo = memoIn(data)
    if (memo && isBoundTo(memo, realm, challengeId)) return memo
  }
  return null
}

function memoOf(calls: Calls, realm: string, challengeId: string): Hex {
  const memo = memoAmong(calls, realm, challengeId)
  if (memo) return memo
  throw new Problem(
    'payment_verification_failed',
    'The transaction carries no memo for this challenge; let an MPP client build it.',
  )
}

const transferAbi = parseAbi(['function transferWithMemo(address to, uint256 amount, bytes32 memo)'])

/** A payer may add calls of any contract, such as a swap. */
function memoIn(data: Hex): Hex | null {
  try {
    return decodeFunctionData({ abi: transferAbi, data }).args[2].toLowerCase() as Hex
  } catch {
    return null
  }
}

/** mppx answers a payer without money with an internal error; the payer deserves to hear what is wrong. */
function problemOf(error: unknown): Problem {
  const text = textOf(error)
  if (error instanceof Problem) return error
  const silent = causeOf(error)
  if (silent) return silent
  if (/insufficient|exceeds balance/i.test(text))
    return new Problem('insufficient_funds', 'The paying wallet holds too little for the price and the fee.', {
      cause: error,
    })
  if (/expired|validBefore/i.test(text))
    return new Problem('payment_expired', 'The signed transaction has run out; pay the challenge in this answer.', {
      cause: error,
    })
  return new Problem('payment_verification_failed', 'The signed transaction does not pay this challenge.', {
    cause: error,
  })
}

const INSUFFICIENT_BALANCE = '0x832f98b5'

/** viem nests errors; the reason may be at any depth, or only in the revert data. */
function textOf(error: unknown): string {
  const parts: string[] = []
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++) {
    const { details, data } = cause as { details?: unknown; data?: unknown }
    parts.push(cause.message, String(details ?? ''))
    if (typeof data === 'string' && data.startsWith(INSUFFICIENT_BALANCE)) parts.push('insufficient')
  }
  return parts.join('\n')
}

function causeOf(error: unknown): Problem | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++)
    if (cause instanceof Problem) return cause
  return null
}

import { type Address, checksumAddress, type Hash, sameAddress } from '../base/address.ts'
import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { blockOrLatest } from './block-tag.ts'
import { type CallTerms, gasUnpaid, OUT_OF_GAS, termsOf, UNFUNDED } from './contract.ts'
import { logsSince } from './logs.ts'
import type { EvmLog, Receipt } from './receipt.ts'
import { ChainSilent, type Rpc, RpcError } from './rpc.ts'
import { wordOfAddress, wordOfUint } from './words.ts'

/** A signed permission to move a token once (EIP-3009), as its typed-data message. Numbers are decimal strings, as on the wire. */
export type Authorization = {
  readonly from: Address
  readonly to: Address
  readonly value: string
  readonly validAfter: string
  readonly validBefore: string
  readonly nonce: Hash
}

const topic = (signature: string): Hash => toHex(keccak256(Buffer.from(signature)))

export const TRANSFER = topic('Transfer(address,address,uint256)')
const AUTHORIZATION_USED = topic('AuthorizationUsed(address,bytes32)')
const AUTHORIZATION_CANCELED = topic('AuthorizationCanceled(address,bytes32)')
const DOMAIN_TYPE = keccak256(
  Buffer.from('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
)
const TRANSFER_TYPE = keccak256(
  Buffer.from(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
)

const selector = (signature: string): string => toHex(keccak256(Buffer.from(signature)).subarray(0, 4)).slice(2)
const TRANSFER_BY_VRS = selector(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
)
const TRANSFER_BY_BYTES = selector('transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)')
const AUTHORIZATION_STATE = selector('authorizationState(address,bytes32)')

export type Domain = {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly token: Address
}

export function domainSeparator({ name, version, chainId, token }: Domain): Uint8Array {
  const words =
    toHex(DOMAIN_TYPE).slice(2) + [name, version].map((text) => toHex(keccak256(Buffer.from(text))).slice(2)).join('')
  return keccak256(Buffer.from(words + wordOfUint(chainId) + wordOfAddress(token), 'hex'))
}

/** What the payer's wallet signed. */
export function authorizationDigest(domain: Uint8Array, authorization: Authorization): Uint8Array {
  return keccak256(authorizationBytes(domain, authorization))
}

/** The bytes that are hashed and signed (EIP-712). */
export function authorizationBytes(domain: Uint8Array, authorization: Authorization): Uint8Array {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const words = [
    wordOfAddress(from),
    wordOfAddress(to),
    wordOfUint(value),
    wordOfUint(validAfter),
    wordOfUint(validBefore),
    nonce.slice(2),
  ]
  const struct = keccak256(Buffer.concat([TRANSFER_TYPE, Buffer.from(words.join(''), 'hex')]))
  return Buffer.concat([Buffer.from([0x19, 0x01]), domain, struct])
}

/** Contract wallets sign with bytes of any length, which need the newer overload; plain keys use the older, cheaper one. */
export function transferCall(authorization: Authorization, signature: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const head = [
    wordOfAddress(from),
    wordOfAddress(to),
    wordOfUint(value),
    wordOfUint(validAfter),
    wordOfUint(validBefore),
    nonce.slice(2),
  ].join('')
  const bytes = fromHex(signature)
  if (bytes.length === 65) {
    const [r, s] = [signature.slice(2, 66), signature.slice(66, 130)]
    return `0x${TRANSFER_BY_VRS}${head}${wordOfUint(bytes[64]!)}${r}${s}`
  }
  const padded = signature.slice(2).padEnd(Math.ceil(bytes.length / 32) * 64, '0')
  return `0x${TRANSFER_BY_BYTES}${head}${wordOfUint(7 * 32)}${wordOfUint(bytes.length)}${padded}`
}

/** As of a block, where one is given: a node that has not got it yet says so instead of answering from the past. */
export async function isAuthorizationUsed(
  rpc: Rpc,
  token: Address,
  { from, nonce }: Pick<Authorization, 'from' | 'nonce'>,
  block?: bigint,
): Promise<boolean> {
  return BigInt(await rpc.request<Hex>('eth_call', stateQuestion(token, { from, nonce }, block))) !== 0n
}

function stateQuestion(
  token: Address,
  { from, nonce }: Pick<Authorization, 'from' | 'nonce'>,
  block: bigint | undefined,
): readonly unknown[] {
  return [{ to: token, data: `0x${AUTHORIZATION_STATE}${wordOfAddress(from)}${nonce.slice(2)}` }, blockOrLatest(block)]
}

/** Would this transfer go through now, or as of a block, on the terms it is sent with? Null for yes, otherwise the token's own words. Moves nothing. */
export async function transferRefusal(
  rpc: Rpc,
  token: Address,
  { terms, data, block }: { readonly terms: CallTerms; readonly data: Hex; readonly block?: bigint },
): Promise<string | null> {
  try {
    await rpc.request('eth_call', [{ ...termsOf(terms), to: token, data }, blockOrLatest(block)])
    return null
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (OUT_OF_GAS.test(error.message)) return error.message.slice(0, 200)
    if (UNFUNDED.test(error.message)) throw gasUnpaid(error)
    // A node that cannot run the call has said nothing about the transfer.
    const isRevert = error.code === 3 || typeof error.data === 'string' || /revert/i.test(error.message)
    if (!isRevert) throw new ChainSilent(rpc.chainId, 'eth_call', error)
    return revertText(error)
  }
}

/** `Error(string)` carries its text after a selector, an offset and a length. */
export function revertText(error: RpcError): string {
  const { data } = error
  if (typeof data === 'string' && data.startsWith('0x08c379a0') && data.length >= 138) {
    const length = Number(BigInt(`0x${data.slice(74, 138)}`))
    return Buffer.from(data.slice(138, 138 + Math.min(length, 200) * 2), 'hex').toString('utf8')
  }
  return error.message.slice(0, 200)
}

/** Did this transaction use exactly this authorization, and did the token move exactly this money for it? */
export function paidBy(receipt: Receipt, token: Address, authorization: Authorization): boolean {
  const { from, to, value, nonce } = authorization
  const logs = receipt.logs.filter((log) => sameAddress(log.address, token))
  const used = logs.findIndex(
    (log) =>
      log.topics[0] === AUTHORIZATION_USED && isFrom(log, from) && log.topics[2]?.toLowerCase() === nonce.toLowerCase(),
  )
  // The token emits the transfer right after the use of its authorization; another transfer in the same transaction proves nothing.
  const moved = used === -1 ? undefined : logs.slice(used + 1).find((log) => log.topics[0] === TRANSFER)
  return (
    receipt.succeeded &&
    moved !== undefined &&
    isFrom(moved, from) &&
    isTo(moved, to) &&
    BigInt(moved.data) === BigInt(value)
  )
}

/** The authorization behind a transfer: the token tells of its use right before the transfer. Null for any other kind of transfer. */
export function authorizationBehind(
  receipt: Receipt,
  token: Address,
  transferLogIndex: number,
): { readonly from: Address; readonly nonce: Hash } | null {
  const before = receipt.logs
    .filter((log) => sameAddress(log.address, token) && Number(log.logIndex) < transferLogIndex)
    .findLast((log) => log.topics[0] === AUTHORIZATION_USED || log.topics[0] === TRANSFER)
  if (before?.topics[0] !== AUTHORIZATION_USED) return null
  return { from: checksumAddress(`0x${before.topics[1]!.slice(26)}`), nonce: before.topics[2]! }
}

/** Did the token move exactly this money in this transaction, whatever for? */
export function moves(
  receipt: Receipt,
  token: Address,
  { from, to, value }: Pick<Authorization, 'from' | 'to' | 'value'>,
): boolean {
  return receipt.logs.some(
    (log) =>
      sameAddress(log.address, token) &&
      log.topics[0] === TRANSFER &&
      isFrom(log, from) &&
      isTo(log, to) &&
      BigInt(log.data) === BigInt(value),
  )
}

function isFrom(log: EvmLog, address: Address): boolean {
  return log.topics[1]?.slice(26).toLowerCase() === address.slice(2).toLowerCase()
}

function isTo(log: EvmLog, address: Address): boolean {
  return log.topics[2]?.slice(26).toLowerCase() === address.slice(2).toLowerCase()
}

/** Where on the chain an authorization was used up, searching from a block that is known to be earlier. */
export async function findAuthorization(
  rpc: Rpc,
  token: Address,
  { from, nonce }: Pick<Authorization, 'from' | 'nonce'>,
  fromBlock: bigint,
): Promise<Hash | null> {
  const logs = await logsSince(rpc, tracesOf(token, { from, nonce }), fromBlock)
  return logs[0] ? (logs[0].transactionHash.toLowerCase() as Hash) : null
}

/** What a transaction did with an authorization; null: nothing. A node may name any, so the receipt tells and not the log that led there. */
export function usedIn(
  { succeeded, logs }: Receipt,
  token: Address,
  { from, nonce }: Pick<Authorization, 'from' | 'nonce'>,
): 'used' | 'cancelled' | null {
  const trace = logs.find(
    (log) =>
      sameAddress(log.address, token) &&
      (log.topics[0] === AUTHORIZATION_USED || log.topics[0] === AUTHORIZATION_CANCELED) &&
      isFrom(log, from) &&
      log.topics[2]?.toLowerCase() === nonce.toLowerCase(),
  )
  if (!succeeded || !trace) return null
  return trace.topics[0] === AUTHORIZATION_USED ? 'used' : 'cancelled'
}

function tracesOf(token: Address, { from, nonce }: Pick<Authorization, 'from' | 'nonce'>): object {
  const topics = [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], `0x${wordOfAddress(from)}`, nonce.toLowerCase()]
  return { address: token, topics }
}

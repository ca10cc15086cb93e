import type { Call, KeyedPlace, Send } from '../../domain/journal.ts'
import type { Lease } from '../../domain/lease.ts'
import { raised } from '../fees.ts'
import { pollUntil } from '../receipt.ts'
import { broadcast } from './broadcast.ts'
import { type Errand, type Lane, noteMined } from './lane.ts'
import { payableFees } from './sign.ts'
import { receiptOf, type SendState } from './state.ts'

/** Signs, writes down, broadcasts, waits. */
export async function sendKeyed(
  lane: Lane,
  { lease, orderId, step }: Errand,
  call: Call,
  place: KeyedPlace,
): Promise<{ readonly send: Send; readonly state: SendState }> {
  const { wallet, journal, chainId, signer, waypoint } = lane
  const version = await wallet.signKeyed(call, place, await payableFees(lane, call.gas), chainId)
  const fresh: Send = { chainId, signer, ...place, orderId, step, call, versions: [version], landing: null }
  await waypoint('send.signed')
  const isRecorded = (await journal.record(lease, fresh)) === null
  const send = isRecorded ? fresh : ((await journal.find(chainId, signer, orderId, step)) ?? fresh)
  await waypoint('send.journaled')
  await broadcast(lane, send)
  await waypoint('send.broadcast')
  return { send, state: await waited(lane, send) }
}

/** The same bytes again; for more, where a block wants more by now and the key is ours. */
export async function pushKeyed(lane: Lane, lease: Lease, send: Send): Promise<SendState> {
  const receipt = await receiptOf(lane, send)
  if (receipt) return { state: 'mined', receipt }
  const newest = await priced(lane, lease, send)
  await broadcast(lane, newest)
  return waited(lane, newest)
}

async function priced(lane: Lane, lease: Lease, send: Send): Promise<Send> {
  const { wallet, journal, chainId, signer, fees } = lane
  const offered = send.versions.at(-1)!.fees
  const today = await fees.current()
  if (send.signer !== signer || offered.maxFeePerGas >= today.baseFee) return send
  const place = { nonceKey: send.nonceKey!, nonce: send.nonce }
  const version = await wallet.signKeyed(send.call, place, raised(offered, today), chainId)
  return (await journal.addVersion(lease, send, version))
    ? { ...send, versions: [...send.versions, version] }
    : ((await journal.find(chainId, signer, send.orderId, send.step)) ?? send)
}

async function waited(lane: Lane, send: Send): Promise<SendState> {
  const { rpc, clock, waitMs, waypoint } = lane
  const receipt = await pollUntil(clock, waitMs, () => receiptOf(lane, send), rpc.heads)
  if (!receipt) return { state: 'pending', hash: send.versions[0]!.hash }
  noteMined(lane, send.step, receipt)
  await waypoint('send.mined')
  return { state: 'mined', receipt }
}

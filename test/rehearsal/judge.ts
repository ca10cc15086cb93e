import assert from 'node:assert/strict'
import { keccak256, toBytes } from 'viem'
import { craftController } from '../../src/artifacts/CraftController.ts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import type { DevChain } from '../../src/devchain/chain.ts'
import { nftsOf } from '../crash/flows.ts'
import { wallet } from '../devchain/support.ts'
import { addressWord } from '../support/hex-words.ts'
import { onServer } from '../support/postgres.ts'
import { type Networks, PATH_USD, USDC } from './networks.ts'
import { nicknameOf, type Purchase } from './purchases.ts'

// Charged and delivered as the chains and the game have it. Nothing here asks the shop, or reads what it wrote down about its orders.

const TRANSFER = keccak256(toBytes('Transfer(address,address,uint256)'))
const addressIn = (topic: Hex): string => `0x${topic.slice(26)}`

export type Payment = { readonly payer: string; readonly amount: bigint; readonly transaction: Hex }

/** Everything that reached the till. */
export async function payments({ chains }: Networks, till: Address): Promise<readonly Payment[]> {
  const both = await Promise.all([transfersTo(chains.native, USDC, till), transfersTo(chains.tempo, PATH_USD, till)])
  return both.flat().map(({ topics, data, transactionHash }) => ({
    payer: addressIn(topics[1]!),
    amount: BigInt(data),
    transaction: transactionHash,
  }))
}

type Transferred = { readonly topics: readonly Hex[]; readonly data: Hex; readonly transactionHash: Hex }

async function transfersTo(chain: DevChain, token: Address, to: Address): Promise<readonly Transferred[]> {
  const filter = { address: token, fromBlock: '0x0', toBlock: 'latest', topics: [TRANSFER, null, addressWord(to)] }
  return (await chain.request({ method: 'eth_getLogs', params: [filter] })) as Transferred[]
}

/** Who minted what this buyer has: the sender of the transaction that did. */
export async function minterOf({ chains: { native } }: Networks, sale: Address, buyer: Address): Promise<string> {
  const [minted] = await transfersTo(native, sale, buyer)
  const params = [minted!.transactionHash]
  const { from } = (await native.request({ method: 'eth_getTransactionByHash', params })) as { from: string }
  return from.toLowerCase()
}

/** What the game has given, by the key that makes each gift one: of the embedded game, and of its reports. */
export type GameLedger = ReadonlyMap<string, string>

export async function readGame(databaseUrl: string): Promise<GameLedger> {
  const { rows } = await onServer(databaseUrl, (client) =>
    client.query<{ key: string; whom: string }>(`
      select l.effect_key as key, p.nickname as whom from inventory_ledger l join players p on p.id = l.player_id
      union all
      select r.user_id || r.tx_hash, r.user_id from reports r`),
  )
  return new Map(rows.map(({ key, whom }) => [key, whom]))
}

type Evidence = {
  readonly networks: Networks
  readonly till: Address
  readonly sale: Address
  readonly controller: Address
  readonly ledgers: readonly GameLedger[]
}

async function delivered({ networks, sale, controller, ledgers }: Evidence, purchase: Purchase): Promise<number> {
  const { kind, buyer, seen } = purchase
  const given = (whom: string) =>
    new Set(ledgers.flatMap((ledger) => [...ledger].filter(([, name]) => name === whom).map(([key]) => key))).size
  const { native } = networks.chains
  switch (kind) {
    case 'lot':
      return nftsOf(networks.chains, sale, buyer.address)
    case 'item':
      return given(nicknameOf(buyer))
    case 'report':
      return given(buyer.address)
    case 'burn': {
      const timers = await wallet(native, buyer).readContract({
        address: controller,
        abi: craftController.abi,
        functionName: 'timersOf',
        args: [buyer.address],
      })
      return timers.length
    }
    // The answer is the good.
    case 'lookup':
    case 'health':
      return seen === 'done' ? 1 : 0
  }
}

/** Whoever was charged has the good once; whoever was not has nothing; and nobody else's money is in the till. */
export async function judge(evidence: Evidence, purchases: readonly Purchase[]): Promise<void> {
  const paid = await payments(evidence.networks, evidence.till)
  for (const purchase of purchases) {
    const { kind, protocol, buyer, seen, status, body } = purchase
    const times = paid.filter(({ payer }) => payer === buyer.address.toLowerCase()).length
    const told = `${kind} by ${protocol}, seen as ${seen} (${status}): ${body.slice(0, 300)}`
    const isAnswer = kind === 'lookup' || kind === 'health'
    if (seen === 'unanswered' && isAnswer) assert.ok(times <= 1, told)
    else assert.deepEqual([times, await delivered(evidence, purchase)], seen === 'done' ? [1, 1] : [times, times], told)
    if (seen === 'refused') assert.equal(times, 0, told)
    assert.ok(times <= 1, told)
  }
  const known = new Set(purchases.map(({ buyer }) => buyer.address.toLowerCase()))
  assert.deepEqual(
    paid.filter(({ payer }) => !known.has(payer)),
    [],
    'money of strangers',
  )
}

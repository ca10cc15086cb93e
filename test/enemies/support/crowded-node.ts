import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { TRANSFER } from '../../../src/chain/eip3009.ts'
import { createRpc, type Rpc } from '../../../src/chain/rpc.ts'
import { httpTransport, type RpcRequest } from '../../../src/chain/transport.ts'

export const TILL = `0x${'11'.repeat(20)}` as const
export const TOKEN = `0x${'22'.repeat(20)}` as const
const FIRST_BLOCK = 100
const NEWEST_BLOCK = 2_500
const CHAIN = 7

export const word = (digits: string): Hash => `0x${digits.padStart(64, '0')}`

type Crowd = {
  /** Transfers of one unit to the till, spread over so many blocks. */
  readonly dust: number
  readonly blocks: number
  /** The node's answer to a search of several blocks that finds more than this. */
  readonly refusal?: { readonly above: number; readonly code: number; readonly message: string }
  /** A search of more blocks than this is not answered, and is waited for no longer than `patienceMs`. */
  readonly silentBeyond?: number
  readonly patienceMs?: number
  /** In each receipt. */
  readonly emptyLogs?: number
}

/** A node over HTTP that shows what strangers have filled its chain with, as long as real ones do. */
export async function crowdedNode(t: Pick<TestContext, 'after'>, crowd: Crowd): Promise<Rpc> {
  // Written once: to write 10 MB anew for every search took most of the time of these tests.
  const dust = Array.from({ length: crowd.dust }, (_, at) => {
    const log = dustLog(at, crowd.blocks)
    return { block: Number(log.blockNumber), text: JSON.stringify(log) }
  })
  const answerTo = ({ id, method, params }: RpcRequest): string | null => {
    if (method === 'eth_chainId') return JSON.stringify({ id, result: `0x${CHAIN.toString(16)}` })
    if (method === 'eth_blockNumber') return JSON.stringify({ id, result: `0x${NEWEST_BLOCK.toString(16)}` })
    if (method === 'eth_getTransactionReceipt')
      return JSON.stringify({ id, result: receipt(params[0] as Hash, crowd.emptyLogs ?? 0) })
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
    const [first, last] = [Number(fromBlock), Number(toBlock)]
    if (last - first >= (crowd.silentBeyond ?? Number.POSITIVE_INFINITY)) return null
    const found = dust.filter(({ block }) => block >= first && block <= last)
    const { refusal } = crowd
    if (refusal && first !== last && found.length > refusal.above) return JSON.stringify({ id, error: refusal })
    return `{"id":${JSON.stringify(id)},"result":[${found.map(({ text }) => text).join()}]}`
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const letter = JSON.parse(Buffer.concat(chunks).toString()) as RpcRequest | RpcRequest[]
    const answer = Array.isArray(letter) ? `[${letter.map(answerTo).join()}]` : answerTo(letter)
    if (answer !== null) response.end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const transports = [httpTransport(`http://127.0.0.1:${port}`, crowd.patienceMs ?? 60_000)]
  return createRpc({ chainId: CHAIN, transports, clock: systemClock })
}

const PER_TRANSACTION = 16

function dustLog(at: number, blocks: number) {
  const transaction = Math.floor(at / PER_TRANSACTION)
  return {
    ...emptyLog(word(transaction.toString(16)), at),
    topics: [TRANSFER, word('ab'.repeat(20)), word(TILL.slice(2))],
    data: word('1'),
    blockNumber: `0x${(FIRST_BLOCK + (transaction % blocks)).toString(16)}`,
  }
}

function emptyLog(transactionHash: Hash, at: number) {
  return {
    address: TOKEN,
    topics: [],
    data: '0x',
    blockHash: word('bb'),
    blockNumber: `0x${FIRST_BLOCK.toString(16)}`,
    blockTimestamp: '0x6a000000',
    transactionHash,
    transactionIndex: '0x1',
    logIndex: `0x${at.toString(16)}`,
    removed: false,
  }
}

function receipt(transactionHash: Hash, emptyLogs: number) {
  const logs = Array.from({ length: emptyLogs }, (_, at) => emptyLog(transactionHash, at))
  return { transactionHash, status: '0x1', blockNumber: '0x64', blockHash: word('bb'), from: TILL, logs }
}

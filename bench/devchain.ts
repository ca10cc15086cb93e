// What the dev chain costs: start-up, transactions per second, latency of a call, memory.
//   node bench/devchain.ts [--count=500] [--blocks=10000]
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { encodeFunctionData, type Hex, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { Transaction } from 'viem/tempo'
import { testTip20 } from '../src/artifacts/TestTip20.ts'
import { testUsdc } from '../src/artifacts/TestUsdc.ts'
import { createDevChain, type DevChain } from '../src/devchain/chain.ts'
import { startDevChains } from '../src/devchain/chains.ts'
import { PATH_USD_ADDRESS, USDC_ADDRESS } from '../src/devchain/rules.ts'
import { type Figure, numbersOf, type Report, report } from './report.ts'

const payer = privateKeyToAccount(generatePrivateKey())
const relayer = privateKeyToAccount(generatePrivateKey())
const shop = privateKeyToAccount(generatePrivateKey()).address

export async function benchDevchain({ count = 500, blocks = 10_000 } = {}): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-bench-'))
  try {
    const figures = [
      ...(await measureChains(folder, count)),
      await measureRestart(folder, blocks),
      ...(await measureProcess()),
    ]
    return { title: 'Dev chain', figures, ratios: [] }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureChains(folder: string, count: number): Promise<Figure[]> {
  const began = performance.now()
  const chains = await startDevChains({ dataDir: folder })
  const start = millis('start of both chains in a worker, new folder', began)
  try {
    await fund(chains.native, chains.tempo)
    return [
      start,
      ...(await measure('transferWithAuthorization', chains.native, await authorizations(count))),
      ...(await measure('transferWithMemo', chains.tempo, await memoTransfers(count))),
      ...(await measureCalls(chains.native)),
    ]
  } finally {
    await chains.close()
  }
}

async function fund(native: DevChain, tempo: DevChain): Promise<void> {
  await native.request({ method: 'dev_setBalance', params: [relayer.address, toHex(10n ** 20n)] })
  await native.request({ method: 'dev_mintToken', params: [USDC_ADDRESS, payer.address, toHex(10n ** 12n)] })
  await tempo.request({ method: 'dev_mintToken', params: [PATH_USD_ADDRESS, payer.address, toHex(10n ** 12n)] })
}

/** Signed by the relayer, in nonce order, each carrying another authorization of the payer. */
async function authorizations(count: number): Promise<Hex[]> {
  const signed: Hex[] = []
  for (let nonce = 0; nonce < count; nonce++) {
    const message = {
      from: payer.address,
      to: shop,
      value: 1_000n,
      validAfter: 0n,
      validBefore: BigInt(2 ** 40),
      nonce: toHex(nonce, { size: 32 }),
    }
    const signature = await payer.signTypedData({
      domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: USDC_ADDRESS },
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'validAfter', type: 'uint256' },
          { name: 'validBefore', type: 'uint256' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'TransferWithAuthorization',
      message,
    })
    const { from, to, value, validAfter, validBefore } = message
    const data = encodeFunctionData({
      abi: testUsdc.abi,
      functionName: 'transferWithAuthorization',
      args: [from, to, value, validAfter, validBefore, message.nonce, signature],
    })
    const fees = { maxFeePerGas: 10_000_000n, maxPriorityFeePerGas: 1_000_000n }
    signed.push(
      await relayer.signTransaction({
        type: 'eip1559',
        chainId: 84532,
        nonce,
        to: USDC_ADDRESS,
        data,
        gas: 200_000n,
        ...fees,
      }),
    )
  }
  return signed
}

async function memoTransfers(count: number): Promise<Hex[]> {
  const signed: Hex[] = []
  for (let i = 0; i < count; i++) {
    const data = encodeFunctionData({
      abi: testTip20.abi,
      functionName: 'transferWithMemo',
      args: [shop, 1_000n, toHex(i, { size: 32 })],
    })
    const transaction = {
      type: 'tempo',
      chainId: 42431,
      calls: [{ to: PATH_USD_ADDRESS, data }],
      gas: 300_000n,
      maxFeePerGas: 20_000_000_000n,
      nonce: 0,
      nonceKey: BigInt(i + 1),
      feeToken: PATH_USD_ADDRESS,
    } as const
    signed.push(await payer.signTransaction(transaction as never, { serializer: Transaction.serialize as never }))
  }
  return signed
}

async function measure(what: string, chain: DevChain, transactions: readonly Hex[]): Promise<Figure[]> {
  const warmUp = transactions.slice(0, 50)
  const rest = transactions.slice(50)
  await Promise.all(warmUp.map((raw) => chain.request({ method: 'eth_sendRawTransaction', params: [raw] })))
  const start = performance.now()
  const cpu = process.cpuUsage()
  await Promise.all(rest.map((raw) => chain.request({ method: 'eth_sendRawTransaction', params: [raw] })))
  const wall = (performance.now() - start) / rest.length
  // Of all threads. On a busy machine it says more than the rate does.
  const { user, system } = process.cpuUsage(cpu)
  const busy = (user + system) / 1000 / rest.length
  return [
    { what: `${what}, automine, durable`, value: 1000 / wall, unit: 'a second' },
    { what: `${what}, each`, value: busy * 1000, unit: 'µs of CPU' },
  ]
}

async function measureCalls(chain: DevChain): Promise<Figure[]> {
  const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'balanceOf', args: [shop] })
  const call = { method: 'eth_call', params: [{ to: USDC_ADDRESS, data }, 'latest'] }
  for (let i = 0; i < 100; i++) await chain.request(call)
  const times: number[] = []
  for (let i = 0; i < 500; i++) {
    const start = performance.now()
    await chain.request(call)
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return [
    { what: 'eth_call balanceOf through the worker, p50', value: times[250]! * 1000, unit: 'µs' },
    { what: 'eth_call balanceOf through the worker, p99', value: times[495]! * 1000, unit: 'µs' },
  ]
}

/** A long journal, and what it takes to start with it. */
async function measureRestart(folder: string, blocks: number): Promise<Figure> {
  const chain = await createDevChain({ rules: 'native', dataDir: folder })
  const have = Number(await chain.request({ method: 'eth_blockNumber' }))
  const account = relayer.address
  for (let i = have; i < blocks; i++) {
    await chain.request({ method: 'dev_mintToken', params: [USDC_ADDRESS, account, toHex(1n)] })
  }
  await chain.close()
  const start = performance.now()
  const again = await createDevChain({ rules: 'native', dataDir: folder })
  const figure = millis(`start with a journal of ${blocks} blocks`, start)
  await again.close()
  return figure
}

/** Both chains in a process of their own: how soon they answer, and what they weigh then. */
async function measureProcess(): Promise<Figure[]> {
  const start = performance.now()
  const main = fileURLToPath(new URL('../src/devchain/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('42431')) break
  const started = millis('start of a process with both chains', start)
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]
  child.kill()
  return [started, { what: 'its memory (RSS)', value: Number(rss) / 1024, unit: 'MB' }]
}

function millis(what: string, since: number): Figure {
  return { what, value: performance.now() - since, unit: 'ms' }
}

if (import.meta.main) report([await benchDevchain(numbersOf(process.argv.slice(2), ['count', 'blocks']))])

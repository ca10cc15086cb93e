import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { encodeFunctionData, type Hex, toHex } from 'viem'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { PATH_USD_ADDRESS, USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { newAccount, tempFolder } from './support.ts'

const main = fileURLToPath(new URL('../../src/devchain/main.ts', import.meta.url))

type Running = { readonly process: ChildProcess; readonly url: string }

/** Both chains in a process of their own, once they say that they listen. */
async function launch(t: TestContext, folder: string, command = [process.execPath]): Promise<Running> {
  const [program, ...args] = [...command, main, '--port', '0', '--data', folder]
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  child.stderr!.on('data', (chunk) => process.stderr.write(chunk))
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^dev chain 42431 at (.+)\/42431$/.exec(line)?.[1]
    if (url) return { process: child, url }
  }
  throw new Error('the chain did not start')
}

function exited(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once('exit', () => resolve()))
}

async function rpc(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (error) throw new Error(error.message)
  return result
}

type Book = { readonly chainId: number; readonly token: Hex; readonly acknowledged: Hex[]; attempted: number }

suite('the chain in a process of its own', () => {
  test('has everything that it acknowledged, after kill -9 in a write loop, time and again', async (t) => {
    const folder = tempFolder(t)
    const who = newAccount().address
    const books: readonly Book[] = [
      { chainId: 84532, token: USDC_ADDRESS, acknowledged: [], attempted: 0 },
      { chainId: 42431, token: PATH_USD_ADDRESS, acknowledged: [], attempted: 0 },
    ]
    const total = () => books.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0)

    async function write(url: string, book: Book, until: number): Promise<void> {
      while (total() < until) {
        book.attempted++
        book.acknowledged.push((await rpc(`${url}/${book.chainId}`, 'dev_mintToken', [book.token, who, '0x1'])) as Hex)
      }
    }

    // Several writers per chain, so that the kill finds some requests before, some in and some after the disk.
    for (const until of [5, 40, 41]) {
      const { process: child, url } = await launch(t, folder)
      const gone = exited(child)
      const writers = [...books, ...books, ...books].map((book) => write(url, book, until))
      await Promise.race(writers).finally(() => child.kill('SIGKILL'))
      await Promise.allSettled(writers)
      await gone
    }

    const { process: child, url } = await launch(t, folder)
    const gone = exited(child)
    for (const { chainId, token, acknowledged, attempted } of books) {
      const ask = (method: string, ...params: unknown[]) => rpc(`${url}/${chainId}`, method, params)
      for (const hash of acknowledged) {
        const receipt = (await ask('eth_getTransactionReceipt', hash)) as { status: Hex } | null
        assert.equal(receipt?.status, '0x1', hash)
      }
      const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'balanceOf', args: [who] })
      const balance = Number(await ask('eth_call', { to: token, data }, 'latest'))
      assert.ok(balance >= acknowledged.length && balance <= attempted, `${balance} of ${attempted}`)
      const logs = (await ask('eth_getLogs', { fromBlock: '0x0', address: token })) as unknown[]
      assert.equal(logs.length, 2 * balance, 'the blocks tell the same story as the state')
      assert.equal(await ask('eth_chainId'), toHex(chainId))
    }
    assert.ok(total() >= 41)
    child.kill('SIGTERM')
    await gone
    assert.equal(child.exitCode, 0)
  })

  test('stops answering when it cannot write, and has lost nothing that it acknowledged', async (t) => {
    const folder = tempFolder(t)
    // A file that cannot grow beyond 100 blocks (of 512 or 1,024 bytes) stands for a disk that is full.
    const limited = await launch(t, folder, ['sh', '-c', 'ulimit -f 100; exec "$0" "$@"', process.execPath])
    const gone = exited(limited.process)
    const url = `${limited.url}/84532`
    const who = newAccount().address
    const full = /^The dev chain cannot use .+chain-84532\.journal: EFBIG/
    let acknowledged = 0
    const fill = async (): Promise<never> => {
      for (;;) {
        await rpc(url, 'dev_mintToken', [USDC_ADDRESS, who, '0x1'])
        acknowledged++
      }
    }
    await assert.rejects(fill(), { message: full })
    await assert.rejects(rpc(url, 'eth_blockNumber', []), { message: full })
    assert.ok(acknowledged > 5)
    limited.process.kill('SIGKILL')
    await gone

    const { process: child, url: again } = await launch(t, folder)
    const ended = exited(child)
    assert.equal(Number(await rpc(`${again}/84532`, 'eth_blockNumber', [])), acknowledged)
    child.kill('SIGTERM')
    await ended
  })
})

// A stand-in for Web3Signer's API for secp256k1, as a process of its own: `node web3signer.ts <key> …`. It can be told to misbehave by
// POST /behave with one of the words below. Prints its address when it listens.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { keccak256, serializeSignature } from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'

export type Behaviour = 'well' | 'silent' | 'other-key' | 'other-bytes' | 'garbage' | 'empty' | 'refuse'

export type StandIn = {
  readonly url: string
  behave(how: Behaviour): Promise<void>
  /** How many signatures were asked for. */
  signed(): Promise<number>
  kill(): Promise<void>
}

export async function startWeb3Signer(t: Pick<TestContext, 'after'>, keys: readonly `0x${string}`[]): Promise<StandIn> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...keys], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))
  const died = exit.then(([code]) => assert.fail(`the signer ended with ${code} before it listened`))
  const [url] = (await Promise.race([once(createInterface(child.stdout), 'line'), died])) as [string]
  died.catch(() => {})
  return {
    url,
    async behave(how) {
      await fetch(`${url}/behave`, { method: 'POST', body: how })
    },
    signed: async () => Number(await (await fetch(`${url}/signed`)).text()),
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}

function serve(keys: readonly `0x${string}`[]): void {
  const accounts = new Map(keys.map((key) => [`0x${privateKeyToAccount(key).publicKey.slice(4)}`, key]))
  let how: Behaviour = 'well'
  let signed = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', method } = request
    const body = await text(request)
    if (url === '/behave') how = body as Behaviour
    if (url === '/behave' || url === '/signed') return void response.end(String(signed))
    if (how === 'silent') return
    if (how === 'refuse') return void response.writeHead(500).end()
    if (url === '/api/v1/eth1/publicKeys') {
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify(how === 'empty' ? [] : [...accounts.keys()]))
    }
    const key = accounts.get(/^\/api\/v1\/eth1\/sign\/(0x[0-9a-f]+)$/.exec(url)?.[1] ?? '')
    if (method !== 'POST' || !key) return void response.writeHead(404).end()
    signed++
    const { data } = JSON.parse(body) as { data: `0x${string}` }
    const hash = keccak256(how === 'other-bytes' ? `${data}00` : data)
    const signature = await sign({ hash, privateKey: how === 'other-key' ? generatePrivateKey() : key })
    response.end(how === 'garbage' ? 'OK' : serializeSignature(signature))
  }

  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
}

if (import.meta.main) serve(process.argv.slice(2) as `0x${string}`[])

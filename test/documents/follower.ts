import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { pointFromScalar, signRecoverable } from 'tiny-secp256k1'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { type Listed, type OpenApi, operationsOf, published, readJson } from './documents.ts'

// A buyer who has an address to begin at, a hash and a curve. Everything else is read: where the documents are, what is sold, what the
// headers are called, what is signed.

type Receipt = { readonly answer: JsonObject; readonly status: JsonObject }

export async function buyByTheBook(origin: string): Promise<Receipt> {
  const index = await read(origin, { accept: 'text/markdown' })
  const key = randomBytes(32)
  const payer = addressOf(key)
  await getPlayMoney(index, payer)
  const contract = await readJson(linkIn(index, 'OpenAPI, paid operations'))
  const guide = await read(linkIn(index, 'Signing a payment yourself'))
  const bought = await buy(contract, guide, { key, payer })
  assert.ok(bought.answer['statusUrl'], JSON.stringify(bought.answer))
  return { ...bought, status: await readJson<JsonObject>(String(bought.answer['statusUrl'])) }
}

async function read(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, { headers })
  assert.equal(response.status, 200, url)
  return response.text()
}

function linkIn(text: string, title: string): string {
  return new RegExp(`\\[${title}\\]\\((\\S+)\\)`).exec(text)?.[1] ?? assert.fail(`nothing leads to ${title}`)
}

/** The text names the faucet, and its contract what to send there. */
async function getPlayMoney(index: string, payer: string): Promise<void> {
  const faucet = new URL(/POST (\S+\/faucet)/.exec(index)![1]!)
  const tools = await readJson(linkIn(index, 'OpenAPI, sandbox'))
  const { properties } = tools.paths[faucet.pathname]!['post']!.requestBody!.content['application/json']!.schema as {
    properties: object
  }
  assert.deepEqual(Object.keys(properties), ['address'])
  const funded = await fetch(faucet, json({ address: payer }))
  assert.equal(funded.status, 200, await funded.text())
}

const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

type Key = { readonly key: Uint8Array; readonly payer: string }

async function buy(contract: OpenApi, guide: string, own: Key): Promise<{ readonly answer: JsonObject }> {
  const listed = chosen(contract, guide)
  const url = contract.servers[0]!.url + listed.path
  const example = listed.operation.requestBody!.content['application/json']!.example!
  const body = await filledIn(url, example, own.payer)
  const unpaid = await fetch(url, json(body))
  assert.equal(unpaid.status, 402)
  const [challengeName] = Object.keys(responseOf(contract, listed, 402).headers)
  const challenge = decoded(unpaid.headers.get(challengeName!)!)
  const paid = await fetch(url, json(body, { [credentialName(contract, listed)]: payment(guide, challenge, own) }))
  const answer = (await paid.json()) as JsonObject
  assert.equal(paid.status, 200, JSON.stringify(answer))
  const validate = published(contract).response(listed, 200)
  assert.ok(validate(answer), JSON.stringify(validate.errors))
  const [receiptName] = Object.keys(responseOf(contract, listed, 200).headers)
  assert.equal(decoded(paid.headers.get(receiptName!)!)['transaction'], answer['paymentTx'])
  return { answer }
}

/** The first thing that takes what the guide's first chapter tells how to pay, and that goes to an address. */
function chosen(contract: OpenApi, guide: string): Listed {
  const [, protocol] = /^## (\w+)$/m.exec(guide)!
  const fitting = operationsOf(contract).find(
    ({ operation }) =>
      operation['x-payment-info']!['protocol'] === protocol &&
      /0x[0-9a-f]{40}/i.test(JSON.stringify(operation.requestBody?.content['application/json']?.example ?? {})),
  )
  return fitting ?? assert.fail(`nothing is sold for ${protocol}`)
}

function responseOf(contract: OpenApi, { operation }: Listed, status: number): { readonly headers: object } {
  const { $ref } = operation.responses[status]!
  const response = $ref ? contract.components['responses']![$ref.split('/').at(-1)!] : operation.responses[status]
  return response as unknown as { readonly headers: object }
}

function credentialName(contract: OpenApi, { operation }: Listed): string {
  const [scheme] = Object.keys((operation['security'] as readonly object[])[0]!)
  return String(contract.components['securitySchemes']![scheme!]!['name'])
}

/** The shop names what in its example is for the reader to replace. */
async function filledIn(url: string, example: JsonObject, payer: string): Promise<JsonObject> {
  const refused = (await (await fetch(url, json(example))).json()) as {
    code: string
    errors: readonly { pointer: string }[]
  }
  assert.equal(refused.code, 'placeholder')
  return { ...example, ...Object.fromEntries(refused.errors.map(({ pointer }) => [pointer.slice(1), payer])) }
}

const decoded = (text: string) => JSON.parse(Buffer.from(text, 'base64').toString()) as JsonObject

type Terms = Readonly<Record<'amount' | 'payTo' | 'network' | 'asset', string>> & {
  readonly maxTimeoutSeconds: number
  readonly extra: Readonly<Record<'name' | 'version', string>>
}

/** As the guide has it, step by step; the types are read from it. */
function payment(guide: string, challenge: JsonObject, { key, payer }: Key): string {
  const accepted = (challenge['accepts'] as readonly Json[])[0] as unknown as Terms
  const now = Math.floor(Date.now() / 1000)
  const authorization: Readonly<Record<string, string>> = {
    from: payer,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: String(now - 60),
    validBefore: String(now + accepted.maxTimeoutSeconds),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  }
  const domain = { ...accepted.extra, chainId: accepted.network.split(':')[1]!, verifyingContract: accepted.asset }
  const digest = hash(
    Buffer.from([0x19, 0x01]),
    structHash(typeIn(guide, 'EIP712Domain'), domain),
    structHash(typeIn(guide, 'TransferWithAuthorization'), authorization),
  )
  const { signature, recoveryId } = signRecoverable(digest, key)
  const hex = `0x${Buffer.from([...signature, 27 + recoveryId]).toString('hex')}`
  const payload = { authorization, signature: hex }
  const made = { x402Version: 2, resource: challenge['resource'], accepted, payload }
  return Buffer.from(JSON.stringify(made)).toString('base64')
}

function typeIn(guide: string, name: string): string {
  return new RegExp(`\`(${name}\\([^\`]*\\))\``).exec(guide)?.[1] ?? assert.fail(`the guide has no ${name}`)
}

const hash = (...parts: readonly Uint8Array[]) => Buffer.from(keccak_256(Buffer.concat(parts)))

/** EIP-712: the hash of the type, then a word for each member. */
function structHash(type: string, values: Readonly<Record<string, string>>): Buffer {
  const members = /\((.*)\)/
    .exec(type)![1]!
    .split(',')
    .map((member) => member.split(' ') as [string, string])
  const words = members.map(([kind, name]) =>
    kind === 'string'
      ? hash(Buffer.from(values[name]!))
      : Buffer.from(BigInt(values[name]!).toString(16).padStart(64, '0'), 'hex'),
  )
  return hash(hash(Buffer.from(type)), ...words)
}

function addressOf(key: Uint8Array): string {
  return `0x${hash(pointFromScalar(key, false)!.subarray(1)).subarray(12).toString('hex')}`
}

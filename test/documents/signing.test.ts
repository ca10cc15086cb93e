import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { Challenge, Credential } from 'mppx'
import { Secp256k1, type Signature } from 'ox'
import { TxEnvelopeTempo } from 'ox/tempo'
import { signRecoverable } from 'tiny-secp256k1'
import { decodeFunctionData, recoverTypedDataAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { Abis, Transaction } from 'viem/tempo'
import { isBoundTo } from '../../src/rails/mpp/memo.ts'
import { decodeHeader as readMpp, decodeMeta as readMppMeta } from '../../src/rails/mpp/wire.ts'
import { decodeHeader as readX402, decodeMeta as readX402Meta } from '../../src/rails/x402/wire.ts'
import { root } from '../cli/sutler.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// docs/signing.md, checked against libraries that nobody here wrote, and against our own reading.

const vectors = JSON.parse(readFileSync('docs/signing-vectors.json', 'utf8'))
const { x402, mpp, mcp } = vectors
const guide = readFileSync('docs/signing.md', 'utf8')
const bytes = (hex: string) => Buffer.from(hex.slice(2), 'hex')
const hex = (data: Uint8Array) => `0x${Buffer.from(data).toString('hex')}`

describe('x402 vectors', () => {
  test('viem signs the same bytes, and knows the signer', async () => {
    const { types, primaryType, domain, message } = x402.typedData
    const account = privateKeyToAccount(x402.key)
    assert.equal(account.address, x402.address)
    assert.equal(await account.signTypedData({ types, primaryType, domain, message }), x402.signature)
    assert.equal(
      await recoverTypedDataAddress({ types, primaryType, domain, message, signature: x402.signature }),
      x402.address,
    )
  })

  test('@noble and libsecp256k1, word by word as the guide says it, comes to the same', () => {
    const { domain, message } = x402.typedData
    const word = (value: bigint | string) => BigInt(value).toString(16).padStart(64, '0')
    const hash = (text: string | Buffer) => Buffer.from(keccak_256(typeof text === 'string' ? Buffer.from(text) : text))
    const type = /`(TransferWithAuthorization\([^`]*\))`/.exec(guide)![1]!
    const domainType = /`(EIP712Domain\([^`]*\))`/.exec(guide)![1]!
    const words = (parts: readonly (string | Buffer)[]) =>
      Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)))
    const separator = hash(
      words([
        hash(domainType),
        hash(domain.name),
        hash(domain.version),
        word(BigInt(domain.chainId)),
        word(domain.verifyingContract),
      ]),
    )
    assert.equal(hex(separator), x402.domainSeparator)
    const struct = hash(
      words([
        hash(type),
        ...['from', 'to', 'value', 'validAfter', 'validBefore'].map((key) => word(message[key])),
        message.nonce.slice(2),
      ]),
    )
    const digest = hash(words(['1901', separator, struct]))
    assert.equal(hex(digest), x402.digest)
    const { signature, recoveryId } = signRecoverable(digest, bytes(x402.key))
    assert.equal(hex(Uint8Array.from([...signature, 27 + recoveryId])), x402.signature)
  })

  test('the headers hold what they say, and we read them', () => {
    const decode = (value: string) => JSON.parse(Buffer.from(value, 'base64').toString())
    assert.deepEqual(decode(x402.challenge.value), x402.challenge.decoded)
    assert.deepEqual(decode(x402.payment.value), x402.payment.decoded)
    assert.deepEqual(readX402(x402.payment.value), x402.payment.decoded)
    assert.deepEqual(readX402Meta(mcp.x402.pay['x402/payment']), x402.payment.decoded)
  })
})

describe('MPP vectors', () => {
  test('mppx reads the challenge and the credentials', () => {
    const { id, realm, request } = Challenge.deserialize(mpp.challenge.value)
    assert.deepEqual(
      [id, realm, request],
      [mpp.challenge.decoded.id, mpp.challenge.decoded.realm, mpp.challenge.request],
    )
    for (const { value, decoded } of [mpp.pull, mpp.push]) {
      const { challenge, payload } = Credential.deserialize(value)
      assert.deepEqual([challenge.id, payload], [id, decoded.payload])
    }
  })

  test('memo, call and body are as the guide says', () => {
    const part = (text: string, count: number) => hex(keccak_256(Buffer.from(text)).subarray(0, count)).slice(2)
    const { realm, id } = mpp.challenge.decoded
    assert.equal(mpp.memo, `0x${part('mpp', 4)}01${part(realm, 10)}${'00'.repeat(10)}${part(id, 7)}`)
    assert.ok(isBoundTo(mpp.memo, realm, id))
    const { functionName, args } = decodeFunctionData({ abi: Abis.tip20, data: mpp.callData })
    assert.deepEqual(
      [functionName, args],
      ['transferWithMemo', [mpp.challenge.request.recipient, BigInt(mpp.challenge.request.amount), mpp.memo]],
    )
    assert.equal(mpp.bodyDigest, `sha-256=${createHash('sha256').update(mpp.body).digest('base64')}`)
  })

  test('viem and ox read the signed transaction; it is by the key, and has its hash', () => {
    const ours = Transaction.deserialize(mpp.signedTransaction as `0x76${string}`)
    assert.deepEqual([ours.chainId, ours.calls?.[0]?.data], [mpp.transaction.chainId, mpp.callData])
    const envelope = TxEnvelopeTempo.deserialize(mpp.signedTransaction)
    const payload = TxEnvelopeTempo.getSignPayload(envelope)
    const { signature } = envelope.signature as { signature: Signature.Signature }
    assert.equal(Secp256k1.recoverAddress({ payload, signature }), mpp.address.toLowerCase())
    assert.equal(hex(keccak_256(bytes(mpp.signedTransaction))), mpp.transactionHash)
  })

  test('we read the credentials, from headers and from _meta', () => {
    const pull = readMpp(mpp.pull.value)
    assert.equal(pull?.proof.mode, 'pull')
    assert.equal(readMpp(mpp.push.value)?.proof.mode, 'push')
    assert.deepEqual(readMppMeta(mcp.mpp.pay['org.paymentauth/credential']), pull)
  })
})

describe('recipes', () => {
  let shop: TestShop
  before(async () => {
    shop = await startShop({
      withSandboxRoutes: true,
      // The recipes end with the first answer; on a busy machine that is not to be a 202.
      configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 60_000 } }),
    })
  })
  after(() => shop.stop())
  const codeOf = (language: string) => new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)\n\`\`\`$`, 'm').exec(guide)![1]!

  async function run(program: string, args: readonly string[]): Promise<string> {
    const { demo } = (await (await fetch(`${shop.url}/sandbox`)).json()) as { demo: { privateKey: string } }
    const env = { ...process.env, SHOP: shop.url, PRIVATE_KEY: demo.privateKey }
    return (await promisify(execFile)(program, [...args], { cwd: root, env })).stdout
  }

  test('curl buys', async () => {
    assert.match(await run('sh', ['-c', codeOf('sh')]), /"status":"confirmed".*"tokenId"/)
  })

  test('TypeScript buys', async () => {
    const stdout = await run(process.execPath, ['--input-type=module-typescript', '-e', codeOf('ts')])
    assert.match(stdout, /^200 [\s\S]*status: 'confirmed'/)
  })

  test('Python buys, with nothing but its standard library', async (t) => {
    if (!(await isThere('python3'))) return t.skip(absent('python3'))
    // What it signs with comes to the vectors too.
    const { domain, message } = x402.typedData
    const code = `${codeOf('python')}
import sys
domain, message, key = json.loads(sys.argv[1])
print(digest_of(domain, message).hex(), address_of(int(key, 16)))`
    const vector = JSON.stringify([domain, message, x402.key])
    const said = await run('python3', ['-c', code, vector])
    assert.match(said, /^200 [\s\S]*'status': 'confirmed'[\s\S]*'tokenId'/)
    assert.equal(said.trim().split('\n').at(-1), `${x402.digest.slice(2)} ${x402.address.toLowerCase()}`)
  })

  test('Go buys, with nothing but its standard library', async (t) => {
    if (!(await isThere('go'))) return t.skip(absent('go'))
    const folder = mkdtempSync(join(tmpdir(), 'sutler-go-'))
    try {
      const file = join(folder, 'buy.go')
      writeFileSync(file, codeOf('go'))
      assert.match(await run('go', ['run', file]), /^200 .*"status":"confirmed".*"tokenId"/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

const absent = (program: string) => `there is no ${program} on this machine; nothing was proven about its recipe`

function isThere(program: string): Promise<boolean> {
  return promisify(execFile)('sh', ['-c', `command -v ${program}`]).then(
    () => true,
    () => false,
  )
}

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

// What a process remembers must be what it would have worked out. In a process of its own, for packages are loaded otherwise there.

const HOOK = join(import.meta.dirname, 'remembered.ts')

/** Signatures of three packages, good and spoilt ones, and messages of all lengths around a block of the hash. */
const PROGRAM = `
  import { registerHooks } from 'node:module'
  if (process.argv[2] === 'remembering') registerHooks((await import(process.argv[1])).rememberingHook())
  const secp = await import('tiny-secp256k1')
  const { keccak256, recoverAddress, toHex } = await import('viem')
  const { Address, Secp256k1 } = await import('ox')
  const { sign } = await import('viem/accounts')
  const ours = await import('@noble/hashes/sha3.js')
  const told = []
  const tell = (value) => told.push(value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value))
  const outcome = async (work) => {
    try { return await work() } catch (error) { return 'refused' }
  }
  for (const round of [1, 2])
    for (let length = 0; length < 300; length += 7) {
      const message = new Uint8Array(length).fill(length)
      const digest = ours.keccak_256(message)
      tell(digest)
      digest.fill(0)
      tell(keccak256(message))
    }
  for (const round of [1, 2])
    for (let nth = 1; nth < 12; nth++) {
      const privateKey = toHex(nth, { size: 32 })
      const hash = keccak256(toHex(nth))
      tell(secp.pointFromScalar(Buffer.from(privateKey.slice(2), 'hex'), nth % 2 === 0))
      const { r, s, v } = await sign({ hash, privateKey })
      for (const other of [hash, keccak256(hash)])
        for (const yParity of [0, 1]) {
          const signature = { r, s, yParity }
          tell(await outcome(() => recoverAddress({ hash: other, signature })))
          const payload = { payload: other, signature: { r: BigInt(r), s: BigInt(s), yParity } }
          tell(await outcome(() => Address.fromPublicKey(Secp256k1.recoverPublicKey(payload))))
          const bytes = Buffer.from(r.slice(2) + s.slice(2), 'hex')
          tell(await outcome(() => secp.recover(Buffer.from(other.slice(2), 'hex'), bytes, yParity, false)))
        }
      const spoilt = { r: '0x' + 'f'.repeat(64), s, yParity: 0 }
      tell(await outcome(() => recoverAddress({ hash, signature: spoilt })))
      tell(await outcome(() => secp.recover(Buffer.from(hash.slice(2), 'hex'), Buffer.alloc(64), 0, false)))
    }
  console.log(told.join('\\n'))
`

const answers = async (how: string) =>
  (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM, HOOK, how])).stdout

test('hashes, signers and addresses are the same with and without a memory', async () => {
  const [plain, remembered] = await Promise.all([answers('plain'), answers('remembering')])
  assert.ok(plain.split('\n').length > 300)
  assert.equal(remembered, plain)
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  type Abi,
  type Account,
  type Address,
  BaseError,
  type ContractConstructorArgs,
  ContractFunctionRevertedError,
  createWalletClient,
  custom,
  encodeDeployData,
  getAddress,
  type Hex,
  publicActions,
  toHex,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import type { Clock } from '../../src/base/clock.ts'
import { createDevChain, type DevChain, type DevChainOptions } from '../../src/devchain/chain.ts'

/** A chain that is closed when the test ends. */
export async function startChain(t: Pick<TestContext, 'after'>, options: DevChainOptions): Promise<DevChain> {
  const chain = await createDevChain(options)
  t.after(() => chain.close())
  return chain
}

/** A folder that is gone when the test ends. */
export function tempFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-chain-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function newAccount() {
  return privateKeyToAccount(generatePrivateKey())
}

/** viem's client for one account on the native chain, with ether for gas. */
export async function fundedWallet(chain: DevChain, account = newAccount()) {
  await chain.request({ method: 'dev_setBalance', params: [account.address, toHex(10n ** 20n)] })
  return wallet(chain, account)
}

export type Wallet = Awaited<ReturnType<typeof fundedWallet>>

export function wallet(chain: DevChain, account: Account) {
  const transport = custom(chain, { retryCount: 0 })
  return createWalletClient({ account, chain: baseSepolia, transport, pollingInterval: 5 }).extend(publicActions)
}

export async function deploy<const abi extends Abi>(
  deployer: Wallet,
  { abi, bytecode }: { abi: abi; bytecode: Hex },
  args: ContractConstructorArgs<abi>,
): Promise<Address> {
  const data = encodeDeployData({ abi, bytecode, args } as never)
  const receipt = await mined(deployer, deployer.sendTransaction({ data } as never))
  assert.ok(receipt.contractAddress)
  return getAddress(receipt.contractAddress)
}

/** The receipt of a transaction that went through. */
export async function mined(reader: Wallet, sent: Promise<Hex>) {
  const receipt = await reader.waitForTransactionReceipt({ hash: await sent })
  assert.equal(receipt.status, 'success')
  return receipt
}

/** The call is refused with this custom error, or this text. */
export async function reverts(call: Promise<unknown>, expected: string): Promise<void> {
  const error = await call.then(
    () => assert.fail(`expected a revert: ${expected}`),
    (error: unknown) => error,
  )
  const reverted = error instanceof BaseError && error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  if (!(reverted instanceof ContractFunctionRevertedError)) throw error
  assert.equal(
    reverted.data?.errorName === 'Error' ? reverted.reason : (reverted.data?.errorName ?? reverted.reason),
    expected,
  )
}

/** A clock that moves only by hand. Sleepers wake when it passes their time. */
export function manualClock(startMs = 1_800_000_000_000): Clock & { advance(ms: number): void } {
  let now = startMs
  let sleepers: { readonly at: number; readonly wake: () => void }[] = []
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const sleeper = { at: now + ms, wake: resolve }
        sleepers.push(sleeper)
        signal?.addEventListener('abort', () => {
          sleepers = sleepers.filter((other) => other !== sleeper)
          resolve()
        })
      }),
    advance(ms) {
      now += ms
      const due = sleepers.filter(({ at }) => at <= now)
      sleepers = sleepers.filter(({ at }) => at > now)
      for (const { wake } of due) wake()
    },
  }
}

/** The request is refused with this code and words. */
export async function refused(request: Promise<unknown>, code: number | string, message: RegExp): Promise<void> {
  const error = await request.then(
    (answer) => assert.fail(`expected a refusal: ${message}, got ${JSON.stringify(answer)}`),
    (error: Error & { code?: unknown }) => error,
  )
  assert.match(error.message, message)
  assert.equal(error.code, code)
}

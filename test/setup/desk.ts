import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { Address } from '../../src/base/address.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Hex } from '../../src/base/hex.ts'
import { Secret } from '../../src/base/secret.ts'
import { createHeadSource } from '../../src/chain/head.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc.ts'
import { providerTransport } from '../../src/chain/transport.ts'
import { createDevChain } from '../../src/devchain/chain.ts'
import { createFeeSource } from '../../src/outbox/fees.ts'
import { createWallet } from '../../src/outbox/wallet.ts'
import type { DeploymentTerms } from '../../src/setup/deployment.ts'
import { openSendFile } from '../../src/setup/send-file.ts'
import type { Crew } from '../../src/setup/step-runner.ts'

/** An empty chain, and somebody with a funded key who is about to make contracts on it. */
export type SetupDesk = {
  readonly rpc: Rpc
  readonly sendsPath: string
  readonly terms: DeploymentTerms
  ask<Answer = unknown>(method: string, ...params: readonly unknown[]): Promise<Answer>
  /** Another process with the same key and the same files. */
  crew(changes?: Partial<Crew>): Crew
  /** Another key with money for gas. */
  funded(): Promise<{ readonly key: Secret; readonly address: Address }>
  /** How many transactions of the deployer are in blocks. */
  sent(): Promise<number>
}

export const someAddress = (): Address => privateKeyToAddress(generatePrivateKey())

export async function setupDesk(t: Pick<TestContext, 'after'>): Promise<SetupDesk> {
  const chain = await createDevChain({ rules: 'native', faults: true })
  const folder = mkdtempSync(join(tmpdir(), 'sutler-setup-'))
  t.after(async () => {
    await chain.close()
    rmSync(folder, { recursive: true })
  })
  const rpc = createRpc({ chainId: 84532, transports: [providerTransport(chain)], clock: systemClock })
  const ask = <Answer>(method: string, ...params: readonly unknown[]) =>
    chain.request({ method, params: [...params] }) as Promise<Answer>
  async function funded() {
    const key = new Secret(generatePrivateKey())
    const { address } = createWallet(key)
    await ask('dev_setBalance', address, '0xde0b6b3a7640000')
    return { key, address }
  }
  const { key, address: admin } = await funded()
  const sendsPath = join(folder, 'sends.json')
  return {
    rpc,
    sendsPath,
    ask,
    funded,
    terms: {
      chainId: 84532,
      salt: `0x${'5a'.repeat(32)}`,
      admin,
      owner: someAddress(),
      lotManager: null,
      sale: { name: 'Studio Lots', symbol: 'LOT', minter: someAddress() },
      craft: {
        token: { name: 'Ember', symbol: 'EMBER' },
        collections: [someAddress()],
        craftSeconds: 3_600,
        secondsPerToken: 600,
        crafter: someAddress(),
      },
    },
    crew(changes = {}) {
      const head = createHeadSource({ rpc, clock: systemClock })
      return {
        rpc,
        fees: createFeeSource({ head, tipWei: 1_000_000n }),
        wallet: createWallet(key),
        sends: openSendFile(sendsPath),
        clock: systemClock,
        waitMs: 5_000,
        ...changes,
      }
    },
    sent: async () => Number(await ask<Hex>('eth_getTransactionCount', admin, 'latest')),
  }
}

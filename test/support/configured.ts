import type { Secret } from '../../src/base/secret.ts'
import type { Config } from '../../src/config/config.ts'
import { impatiently } from '../operations/desk.ts'
import { AS_FAR_AS_IT_CAN_MS } from './shop.ts'

/** Waits for nothing longer than a test has to. */
export function hurried(config: Config): Config {
  const { limits, ...rest } = impatiently(config)
  return { ...rest, limits: { ...limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 } }
}

/** The same shop after the key of its treasury was replaced, on both rails. */
export const withTreasury =
  (treasuryKey: Secret) =>
  (config: Config): Config =>
    impatiently({ ...config, x402: { ...config.x402!, treasuryKey }, mpp: { ...config.mpp!, treasuryKey } })

/** The same shop after it has left the network that x402 was paid on. */
export function onAnotherNetwork({ x402, ...config }: Config): Config {
  return {
    ...config,
    x402: { ...x402!, network: 'eip155:8453', payTo: '0x00000000000000000000000000000000005e11e2' },
    retired: [{ rail: 'x402', config: x402! }],
  }
}

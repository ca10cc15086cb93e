import { Secret } from '../base/secret.ts'
import type { ChainAccess } from '../chain/access.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Sender } from '../chain/sender.ts'
import type { ChainConfig, GameConfig } from '../config/config.ts'
import type { ChainKey } from '../config/signing-key.ts'
import type { Journal } from '../domain/journal.ts'
import type { RailAccount } from '../rails/kind.ts'

/** A key of ours on one chain, by what it is for. */
export type RoleSigner = {
  readonly role: string
  readonly sender: Sender
  readonly rpc: Rpc
  readonly head: HeadSource
  /** Tempo has no coin of its own: fees are paid in the token. */
  readonly paysGasInCoin: boolean
  /** Somebody else holds the key and signs with it. */
  readonly isRemote: boolean
}

export function createSigners(
  accounts: readonly RailAccount[],
  game: GameConfig,
  chainOf: (chain: ChainConfig) => ChainAccess,
): readonly RoleSigner[] {
  const signers: RoleSigner[] = []
  const add = (role: string, chain: ChainConfig, key: ChainKey | undefined) => {
    if (!key) return
    const { rpc, head, sender } = chainOf(chain)
    const isRemote = !(key instanceof Secret)
    signers.push({ role, sender: sender(key), rpc, head, paysGasInCoin: chain.paysGasInCoin, isRemote })
  }
  for (const { chain, otherKeys, treasuryKey } of accounts) {
    for (const { role, key } of otherKeys) add(role, chain, key)
    add('treasury', chain, treasuryKey)
  }
  add('minter', game.chain, game.sale?.minterKey)
  add('crafter', game.chain, game.craft?.crafterKey)
  return signers
}

/**
 * Has a key sent more than the journal knows? Bytes are journaled before they are sent, so the journal has lost something: it is an older
 * copy of itself. (Or somebody else has the key, which is worse.) A key that the journal never used may have a past of its own.
 */
export async function isJournalBehind(signers: readonly RoleSigner[], journal: Journal): Promise<boolean> {
  for (const { sender, rpc } of signers) {
    const last = await journal.lastNonce(rpc.chainId, sender.address)
    if (last === null) continue
    if (await sender.hasSentBeyond(last)) return true
  }
  return false
}

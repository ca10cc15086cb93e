import { type Address, sameAddress } from '../base/address.ts'
import { toHex } from '../base/hex.ts'
import { newId, type Random } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import { keccak256 } from '../base/keccak.ts'
import { Secret } from '../base/secret.ts'
import { sandboxKey } from '../config/published.ts'
import { createWallet } from '../outbox/wallet.ts'
import type { Database } from '../store/db.ts'
import { createPlayers } from '../store/game/players.ts'
import { type SeededPlayer, seedGame } from '../store/game/seed.ts'
import { seedItems, seedPlayers } from './goods.ts'

export type SandboxPlayers = {
  list(): Promise<readonly { readonly nickname: string; readonly address: Address | null }[]>
  /** A player with this nickname, old or new, whose wallet this is from now on. */
  create(player: { readonly nickname: string; readonly address: Address }): Promise<JsonObject>
}

/** The key of a seeded player. Like all keys of the play-money world it can be computed by anybody. */
export function playerKey(nickname: string): Secret {
  if (nickname === 'Demo') return sandboxKey('demo')
  return new Secret(toHex(keccak256(Buffer.from(`sutler sandbox player ${nickname}`))))
}

/** Items and players of the sandbox, on a store whose migrations have run. Safe to run at every start. */
export async function seedSandboxGame(database: Database): Promise<void> {
  players ??= seedPlayers.map((player) => ({
    ...player,
    playerId: `ply_${player.nickname.toLowerCase()}`,
    address: createWallet(playerKey(player.nickname)).address,
  }))
  await seedGame(database, { items: seedItems, players })
}

/** The same for every shop of a process. */
let players: readonly SeededPlayer[] | undefined

const LISTED_MAX = 100

export function createSandboxPlayers(database: Database, random: Random): SandboxPlayers {
  const players = createPlayers(database)
  return {
    async list() {
      const all = await players.list(LISTED_MAX)
      return all.map(({ nickname, wallets }) => ({ nickname, address: wallets[0] ?? null }))
    },
    async create({ nickname, address }) {
      const player = await players.link({ playerId: newId('ply', random), nickname, address })
      const wallet = player.wallets.find((linked) => sameAddress(linked, address)) ?? address
      return { playerId: player.playerId, nickname: player.nickname, level: player.level, address: wallet }
    },
  }
}

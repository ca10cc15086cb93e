import { Problem } from '../../base/problem.ts'
import type { Recipient } from '../../domain/catalog.ts'
import type { GameBackend, Player } from './game.ts'

/** The player whom an identifier stands for. A payer is looked up like any wallet; whether it is theirs is for the payment to prove. */
export function findRecipient(game: GameBackend, { kind, value }: Recipient): Promise<Player | null> {
  return game.findPlayer({ kind: kind === 'nickname' ? 'nickname' : 'address', value })
}

/** Says nothing but that there is no such player: not even the identifier, which may end up in a public status. */
export function recipientMissing({ kind }: Recipient): Problem {
  return kind === 'payer'
    ? new Problem('player_not_linked', 'No player is linked to this payer; link the wallet in the game first.')
    : new Problem('recipient_not_found', `No player has this ${kind}; nothing was taken.`)
}

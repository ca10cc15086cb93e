import { createHash } from 'node:crypto'
import { rounded, timesNumeric } from './decimal.ts'
import { memberOf, textIn } from './document.ts'
import { epochOf } from './moment.ts'
import { raised, Unsupported } from './raised.ts'
import type { Json, Value } from './value.ts'
import { type Fact, insertNamed } from './write.ts'

type Routine = (fact: Fact) => void

/** What triggers call, written once more by hand: each is known by its name and by the digest of its text. */
export const ROUTINES: Readonly<Record<string, Routine>> = {
  keep_item_price({ run, old }) {
    insertNamed(run, 'item_prices', { item_id: old('id'), price: old('price') })
  },
  keep_good_price({ run, old }) {
    insertNamed(run, 'earlier_good_prices', { good: old('good'), amount: old('amount') })
  },
  keep_audit() {
    throw raised('P0001', 'the audit log is only added to')
  },
  note_order_move({ run, event, row: column }) {
    const [status, created, updated] = [column('status'), column('created_at'), column('updated_at')]
    insertNamed(run, 'order_moves', {
      status,
      moved_at: event === 'insert' ? created : updated,
      took_ms: status === 'confirmed' ? millisBetween(created as number, updated as number) : null,
      ...Object.fromEntries(SAME.map((name) => [name, column(name)])),
      item: memberText(column('input'), 'itemId') ?? memberText(column('input'), 'saleId') ?? '',
    })
  },
}

const SAME = ['rail', 'network', 'asset', 'surface', 'good', 'amount']

const memberText = (input: Value, name: string) => {
  const found = memberOf((input as Json).json, name)
  return found === undefined ? null : textIn(found)
}

function millisBetween(from: number, to: number): bigint {
  const millis = rounded(timesNumeric(epochOf(to - from), 1000n), 0) as bigint
  return millis > 0n ? millis : 0n
}

/** Those of `create function` that are modelled. A text that changes must be looked at here before anything runs on it. */
const DIGESTS: Readonly<Record<string, string>> = {
  keep_item_price: 'ef759d0bebcb7910',
  keep_good_price: '39e9ffc38e0f7107',
  keep_audit: '723cc51beb3a3077',
  note_order_move: '1b047828fc205c6e',
  store_lineage: '07026a74922cc7cd',
  store_birth: 'dde01ee5ad494c63',
}

export function knownRoutine(name: string, body: string): string {
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 16)
  if (DIGESTS[name] !== digest) throw new Unsupported(`the function ${name} with this text, whose digest is ${digest}`)
  return name
}

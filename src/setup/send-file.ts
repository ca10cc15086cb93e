import { existsSync, readFileSync, rmSync } from 'node:fs'
import * as z from 'zod'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { stringify } from '../base/json.ts'
import type { Fees } from '../domain/journal.ts'
import { replaceFile } from './durable-file.ts'
import { SetupFault } from './fault.ts'

/** What was signed for a step and may be on its way: one nonce, and every version of its transaction. */
export type InFlight = {
  readonly signer: Address
  readonly nonce: number
  readonly versions: readonly { readonly raw: Hex; readonly hash: Hex; readonly fees: Fees }[]
}

/** Signed bytes are here before they leave the machine, so that a command that died can be run again. */
export type SendFile = {
  get(step: string): InFlight | null
  put(step: string, sent: InFlight): void
  remove(step: string): void
}

const hex = z.string().regex(/^0x[0-9a-fA-F]*$/) as unknown as z.ZodType<Hex>
const wei = z.string().regex(/^\d+$/).transform(BigInt)
const inFlight = z.record(
  z.string(),
  z.object({
    signer: hex,
    nonce: z.number().int().nonnegative(),
    versions: z.array(
      z.object({ raw: hex, hash: hex, fees: z.object({ maxFeePerGas: wei, maxPriorityFeePerGas: wei }) }),
    ),
  }),
)

/** The file is there only while something is in flight. */
export function openSendFile(path: string): SendFile {
  let entries: Readonly<Record<string, InFlight>> = existsSync(path) ? readEntries(path) : {}

  function write(changed: Readonly<Record<string, InFlight>>): void {
    entries = changed
    if (Object.keys(entries).length === 0) rmSync(path, { force: true })
    else replaceFile(path, `${stringify(entries, 2)}\n`, { mode: 0o600 })
  }

  return {
    get: (step) => entries[step] ?? null,
    put: (step, sent) => write({ ...entries, [step]: sent }),
    remove(step) {
      const { [step]: gone, ...rest } = entries
      if (gone) write(rest)
    },
  }
}

function readEntries(path: string): Readonly<Record<string, InFlight>> {
  try {
    return inFlight.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new SetupFault(
      'journal_unreadable',
      `${path} should hold what was signed and is on its way, and cannot be read; nothing was sent. ` +
        'Move it away, look at the chain with `sutler contracts status`, then run the same line again',
      { cause },
    )
  }
}

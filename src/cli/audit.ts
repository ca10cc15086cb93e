import { presentVerdict } from '../api/operator/audit-rows.ts'
import type { JsonObject } from '../base/json.ts'
import { verifyAudit } from '../store/people/audit.ts'
import { type Command, operatorOptions, UsageFault } from './command.ts'
import { operatorClient, type ShopClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'

type Entry = {
  readonly at: string
  readonly who: string
  readonly role: string
  readonly via: string
  readonly deed: string
  readonly about: { readonly kind: string; readonly id: string }
  readonly reason: string | null
}

export const listAuditCommand: Command = {
  args: '',
  about: 'Lists who did what, newest first: from the console, by a command or by a call.',
  options: {
    ...operatorOptions,
    who: { value: 'name', about: 'only of this operator' },
    deed: { value: 'deed', about: 'only this, for example order.refunded' },
    about: { value: 'id', about: 'only about this order, item, operator …' },
    cursor: { value: 'cursor', about: 'the next page: what the page before it ended with' },
  },
  examples: [
    ['sutler audit', 'what happened?'],
    ['sutler audit list --about ord_4w5k…', 'who touched this order?'],
  ],
  async run(call) {
    const query = new URLSearchParams()
    for (const name of ['who', 'deed', 'about', 'cursor']) {
      const value = call.option(name)
      if (value !== undefined) query.set(name, value)
    }
    const page = await operatorClient(call).get<JsonObject & { entries: Entry[]; next: string | null }>(
      `/operator/audit?${query}`,
    )
    const { table, style } = call.terminal
    const rows = page.entries.map(({ at, who, role, via, deed, about, reason }) => [
      at,
      who,
      style.dim(`${role}, ${via}`),
      deed,
      `${about.kind} ${about.id}`,
      reason ?? '',
    ])
    const more = page.next === null ? '' : style.dim(`\nolder: sutler audit list --cursor ${page.next}`)
    return { json: page, text: rows.length === 0 ? style.dim('nobody did anything') : table(rows) + more }
  },
}

export const verifyAuditCommand: Command = {
  args: '[head]',
  about: [
    'Reads the whole audit log, and names each entry that was changed, removed or slipped in. It ends with the head of the log: note it',
    'elsewhere, and give it the next time. Somebody who may write to the store could write the whole log anew, but not so that it still',
    'has that head.',
  ].join('\n'),
  options: operatorOptions,
  examples: [
    ['sutler audit verify', 'is it whole?'],
    ['sutler audit verify 1834:9f2c…', 'is it still the one whose head was noted?'],
  ],
  async run(call) {
    const noted = headOf(call.args[0])
    const verdict = await readShopOrStore(
      call,
      (client) => verifyInParts(client, noted),
      async (database) =>
        presentVerdict(await verifyAudit(database, noted && { ...noted, position: BigInt(noted.position) })),
    )
    const { style } = call.terminal
    const { isWhole, entries, head, faults } = verdict
    const lines = isWhole
      ? [style.green(`the audit log is whole: ${entries} entries`)]
      : faults.map(({ position, kind }) => style.red(`entry ${position} was ${WORDS[kind]}`))
    return { json: verdict, text: [...lines, `head ${head.position}:${head.hash}`].join('\n'), isGood: isWhole }
  },
}

type Verdict = ReturnType<typeof presentVerdict>

/** One answer reads so much and no more. */
async function verifyInParts(client: ShopClient, noted: Noted): Promise<Verdict> {
  let entries = 0
  const faults: Verdict['faults'] = []
  for (let after: string | null = null; ; ) {
    const query = new URLSearchParams({ ...noted, ...(after === null ? {} : { after }) })
    const part: Verdict = await client.get(`/operator/audit/verify?${query}`)
    entries += part.entries
    faults.push(...part.faults)
    if (part.next === null) return { ...part, isWhole: faults.length === 0, entries, faults }
    after = part.next
  }
}

const WORDS = { changed: 'changed', removed: 'removed', inserted: 'slipped in' } as const

type Noted = { readonly position: string; readonly hash: string } | null

function headOf(text: string | undefined): Noted {
  if (text === undefined) return null
  const [, position, hash] = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text) ?? []
  if (position === undefined || hash === undefined)
    throw new UsageFault('a head is a position, a colon and 64 digits, as this command printed it', 'audit verify')
  return { position, hash }
}

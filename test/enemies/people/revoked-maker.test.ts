import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemRandom } from '../../../src/base/id.ts'
import { FIRST_ADMIN } from '../../../src/domain/operator.ts'
import type { Doer } from '../../../src/store/deeds.ts'
import { addPerson, changePerson, type Person } from '../../../src/store/people/operators.ts'
import { signInByToken } from '../../../src/store/people/sign-in.ts'
import { issueToken } from '../../../src/store/people/tokens.ts'
import { openStore, type TestStore } from '../../support/database.ts'

// Whoever makes a link or a token for somebody else has seen it, and can come in by it.

let store: TestStore
before(async () => {
  store = await openStore('postgres')
})
after(() => store.drop())

const NOW = Date.parse('2026-01-01T00:00:00Z')

const doer = ({ id, name, role }: Pick<Person, 'id' | 'name' | 'role'>): Doer => {
  return { who: { id, name, role, via: 'token', address: '' }, by: name, at: NOW, random: systemRandom }
}

async function admin(name: string): Promise<Person> {
  const person = await store.db.transaction((tx) => addPerson(tx, doer(FIRST_ADMIN), { name, role: 'admin' }))
  return person!
}

const given = (kind: 'link' | 'personal', maker: Person, { id: operatorId }: Person) =>
  store.db.transaction((tx) => issueToken(tx, doer(maker), { kind, operatorId }))

async function opens({ secret }: Awaited<ReturnType<typeof given>>): Promise<boolean> {
  const caller = { address: '192.0.2.1', device: '', held: null, at: NOW + 60_000, random: systemRandom }
  return (await signInByToken(store.db, caller, secret.reveal())).kind === 'in'
}

const changes = { revoked: { state: 'revoked' }, demoted: { role: 'support' } } as const

for (const [what, change] of Object.entries(changes))
  for (const kind of ['link', 'personal'] as const)
    test(`O-20: a ${kind} token for somebody else opens nothing once the admin who made it is ${what}`, async () => {
      const name = `${what} by ${kind}`
      const [maker, other, guest] = [
        await admin(`Maker ${name}`),
        await admin(`Other ${name}`),
        await admin(`For ${name}`),
      ]
      const [made, others] = [await given(kind, maker, guest), await given(kind, other, guest)]
      await changePerson(store.db, doer(FIRST_ADMIN), maker.id, change)
      const late = await given(kind, maker, guest)
      assert.equal(await opens(made), false)
      assert.equal(await opens(late), false, 'made by a call that was let in a moment before')
      assert.equal(await opens(others), true, 'made by another admin')
    })

test('O-20: with a token of theirs ends whoever came in by it; what is their own they keep', async () => {
  const [maker, guest] = [await admin('Seer'), await admin('Seen')]
  const [own, made] = [await given('personal', maker, maker), await given('personal', maker, guest)]
  assert.equal(await opens(made), true)
  const sessions = async () => {
    const { rows } = await store.db.query<{ n: number }>(
      'select count(*)::int as n from operator_sessions where operator_id = $1 and ended_at is null',
      [guest.id],
    )
    return rows[0]!.n
  }
  assert.equal(await sessions(), 1)
  await changePerson(store.db, doer(FIRST_ADMIN), maker.id, { role: 'viewer' })
  assert.equal(await sessions(), 0)
  assert.equal(await opens(own), true)
})

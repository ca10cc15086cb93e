import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { FIRST_ADMIN, mayAct } from '../../domain/operator.ts'
import { nameField } from '../../domain/shelf-fields.ts'
import type { Transaction } from '../../store/db.ts'
import type { Doer } from '../../store/deeds.ts'
import {
  addPasskey,
  askChallenge,
  type ListedPasskey,
  listPasskeys,
  lockPasskey,
  removePasskey,
  takeChallenge,
  usePasskey,
} from '../../store/people/passkeys.ts'
import { BEGAN_WITH } from '../../store/people/sessions.ts'
import { type Proof, signIn } from '../../store/people/sign-in.ts'
import { assertJustSignedIn, assertTouched } from './just-signed-in.ts'
import { challengeIn, checkAssertion, ES256, type PasskeyPlace, readPasskey } from './passkey.ts'
import type { PeopleDesk } from './people-rows.ts'
import { entrance, type OperatorRoute, operator } from './route.ts'
import { answerTo, callerOf } from './session-rows.ts'

const TIMEOUT_MS = 120_000
const CHALLENGE_BYTES = 32

const encoded = z
  .string()
  .min(1)
  .max(8_000)
  .regex(/^[\w-]+$/, { message: 'is not base64url' })

// As `PublicKeyCredential.toJSON()` writes them; what a browser adds beside is of no use here.
const registered = z.looseObject({
  response: z.looseObject({ clientDataJSON: encoded, attestationObject: encoded }),
})
const asserted = z.looseObject({
  id: encoded,
  response: z.looseObject({
    clientDataJSON: encoded,
    authenticatorData: encoded,
    signature: encoded,
    userHandle: encoded.nullish(),
  }),
})

/** Keys that live in a device and never leave it: made by whoever is signed in, and good for signing in. */
export function passkeyRows(desk: PeopleDesk): readonly OperatorRoute[] {
  const { config, database, clock, random } = desk
  const { origin, hostname: rpId } = new URL(config.http.baseUrl)
  const place = { origin, rpId }
  const ask = async (operatorId: string | null) => {
    const challenge = Buffer.from(random.bytes(CHALLENGE_BYTES)).toString('base64url')
    await askChallenge(database, { challenge, operatorId, now: clock.now() })
    return challenge
  }
  return [
    operator('GET /operator/passkeys', {
      role: 'viewer',
      summary: 'Your own passkeys',
      handle: async ({ who }) => ({
        body: { passkeys: (await listPasskeys(database, who.id)).map(presentPasskey), next: null },
      }),
    }),
    operator('POST /operator/passkeys/options', {
      role: 'viewer',
      summary: 'What a browser needs to make a passkey; good for two minutes, once',
      handle: async ({ who, session }) => {
        if (who.id === FIRST_ADMIN.id) throw new Problem('invalid_request', "The shop's own token has no passkeys.")
        assertJustSignedIn(session, clock.now(), 'A passkey is made')
        const known = await listPasskeys(database, who.id)
        return { body: creation({ rpId, shop: config.service.name, who, known }, await ask(who.id)) }
      },
    }),
    operator('POST /operator/passkeys/register', {
      role: 'viewer',
      summary: 'Keep a passkey that a browser has made',
      body: z.strictObject({ credential: registered, name: nameField.default('Passkey') }),
      handle: async ({ body, doer, session }) => {
        assertJustSignedIn(session, clock.now(), 'A passkey is made')
        const id = await database.transaction((tx) => register(tx, doer, place, body))
        if (id === null)
          throw new Problem('invalid_request', 'This passkey is not taken: ask for new options and make it again.')
        return { status: 201, body: { id, name: body.name } }
      },
    }),
    operator('DELETE /operator/passkeys/{id}', {
      role: 'viewer',
      summary: 'Forget a passkey of yours; an admin may forget any',
      params: z.strictObject({ id: z.string().min(1).max(64) }),
      handle: async ({ params, who, doer, session }) => {
        const owner = mayAct(who.role, 'admin') ? null : who.id
        // Otherwise whoever found a session would take away what asks for more than a session.
        const isOwn = (await listPasskeys(database, who.id)).some((passkey) => passkey.id === params.id)
        if (isOwn) assertJustSignedIn(session, clock.now(), 'Your passkey is removed')
        else await assertTouched(database, { who, session }, clock.now())
        if (!(await removePasskey(database, doer, params.id, owner)))
          throw new Problem('operator_not_found', `There is no passkey ${params.id} of yours.`)
        return { body: { removed: params.id } }
      },
    }),
    entrance('POST /operator/passkeys/challenge', {
      summary: 'What a browser needs to sign in with a passkey; good for two minutes, once',
      body: z.strictObject({}),
      handle: async ({ request }) => {
        // Each is written down, for whoever asks.
        desk.admission.take('quote', request)
        const asked = { rpId, timeout: TIMEOUT_MS, userVerification: 'required', allowCredentials: [] }
        return { body: { challenge: await ask(null), ...asked } }
      },
    }),
    entrance('POST /operator/passkeys/verify', {
      summary: 'Sign in with a passkey; the answer sets the cookie of the session',
      body: z.strictObject({ credential: asserted }),
      handle: async ({ body, request }) => {
        const caller = callerOf(desk, request)
        const outcome = await signIn(database, caller, (tx) => prove(tx, body.credential, place, caller.at))
        return answerTo(desk, request, outcome)
      },
    }),
  ]
}

type Wish = {
  readonly rpId: string
  readonly shop: string
  readonly who: { readonly id: string; readonly name: string }
  readonly known: readonly ListedPasskey[]
}

/** For `PublicKeyCredential.parseCreationOptionsFromJSON()`. */
function creation({ rpId, shop, who, known }: Wish, challenge: string): JsonObject {
  return {
    challenge,
    rp: { id: rpId, name: shop },
    user: { id: Buffer.from(who.id).toString('base64url'), name: who.name, displayName: who.name },
    pubKeyCredParams: [{ type: 'public-key', alg: ES256 }],
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: known.map(({ credential: id }) => ({ type: 'public-key', id })),
    timeout: TIMEOUT_MS,
  }
}

/** Null when it is not what was asked for. */
async function register(
  tx: Transaction,
  doer: Doer,
  place: PasskeyPlace,
  { credential, name }: { readonly credential: z.output<typeof registered>; readonly name: string },
): Promise<string | null> {
  const { clientDataJSON, attestationObject } = credential.response
  const challenge = attempt(() => challengeIn(clientDataJSON, 'webauthn.create', place))
  if (challenge === null || (await takeChallenge(tx, challenge, doer.at)) !== doer.who.id) return null
  const passkey = attempt(() => readPasskey(attestationObject, place))
  return passkey && addPasskey(tx, doer, { ...passkey, name })
}

/** Whose passkey has signed what we asked. */
async function prove(
  tx: Transaction,
  { id, response }: z.output<typeof asserted>,
  place: PasskeyPlace,
  now: number,
): Promise<Proof> {
  const nobody = { operator: null, how: BEGAN_WITH.passkey, token: null }
  const challenge = attempt(() => challengeIn(response.clientDataJSON, 'webauthn.get', place))
  // One that was asked for a new passkey is not good for coming in.
  if (challenge === null || (await takeChallenge(tx, challenge, now)) !== null) return nobody
  const passkey = await lockPasskey(tx, id)
  if (!passkey) return nobody
  const { operator } = passkey
  if (response.userHandle && Buffer.from(response.userHandle, 'base64url').toString() !== operator.id) return nobody
  const counter = attempt(() => checkAssertion(response, passkey, place))
  if (counter === null) return nobody
  await usePasskey(tx, passkey.id, counter, now)
  return { ...nobody, operator: { ...operator, via: 'console' } }
}

/** Null when it cannot be read or does not hold: whoever sent it learns nothing more. */
function attempt<Read>(read: () => Read): Read | null {
  try {
    return read()
  } catch {
    return null
  }
}

function presentPasskey({ id, name, madeAt, usedAt }: ListedPasskey): JsonObject {
  return { id, name, madeAt: isoTime(madeAt), usedAt: usedAt === null ? null : isoTime(usedAt) }
}

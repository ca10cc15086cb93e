import { type Address, checksumAddress, sameAddress } from '../base/address.ts'
import { type Clock, msSince } from '../base/clock.ts'
import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { systemExchange } from '../base/outgoing.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { recoverSigner } from '../chain/secp256k1.ts'
import type { RemoteKey } from '../config/signing-key.ts'
import type { Signature, Signer } from './signer.ts'

/** A buyer waits for each of these, one after the other. */
const SIGN_MS_MAX = 4_000
const PROBE_MS_MAX = 2_000
const ANSWER_BYTES_MAX = 1 << 20
/** For so long after a good probe nobody asks again; after a bad one, others are told the same without asking. */
const GOOD_MS = 10_000
const BAD_MS = 1_000

/** No transaction begins with this byte (EIP-191), so the signature is of no use to anybody. */
const PROBE = Buffer.from('\x19Sutler asks whether this signer works')

/**
 * A key that a Web3Signer has (its API for secp256k1). It is asked for bytes and never believed: what it gives back must be a signature of
 * this key over these bytes before anything is written down or sent.
 */
export function remoteSigner({ address, signer }: RemoteKey, clock: Clock): Signer {
  const { url, token } = signer
  const headers = {
    accept: 'text/plain, application/json',
    'content-type': 'application/json',
    ...(token ? { authorization: `Bearer ${token.reveal()}` } : {}),
  }
  let identifier: string | null = null
  let probe: { readonly at: number; readonly outcome: Promise<Problem | null> } | null = null

  async function ask(request: { path: string; body?: string; timeoutMs: number }): Promise<string> {
    const { path, body, timeoutMs } = request
    const asked = { url: `${url}${path}`, method: body === undefined ? 'GET' : 'POST', headers, timeoutMs }
    const { status, text } = await systemExchange({
      ...asked,
      bytesMax: ANSWER_BYTES_MAX,
      ...(body ? { body } : {}),
    }).catch((cause: Error) => {
      throw unavailable(`does not answer (${cause.message})`, cause)
    })
    if (status === 200) return text
    if (status === 404) identifier = null
    throw unavailable(`answers ${status}`)
  }

  async function identify(timeoutMs: number): Promise<string> {
    const listed = publicKeysIn(await ask({ path: '/api/v1/eth1/publicKeys', timeoutMs }))
    const own = listed?.find((key) => sameAddress(addressOf(key), address))
    if (own === undefined)
      throw unavailable(listed ? 'does not have this key' : 'does not list its keys as Web3Signer does')
    return own
  }

  async function sign(bytes: Uint8Array, timeoutMs: number): Promise<Signature> {
    identifier ??= await identify(timeoutMs)
    const body = JSON.stringify({ data: toHex(bytes) })
    const text = await ask({ path: `/api/v1/eth1/sign/${identifier}`, body, timeoutMs })
    const signature = signatureIn(text)
    if (signature === null) throw unavailable('gives back something that is no signature')
    if (!sameAddress(recoverSigner(keccak256(bytes), signature) ?? '', address))
      throw unavailable('gives back a signature of another key, or over other bytes')
    return {
      r: signature.slice(0, 66) as Hex,
      s: `0x${signature.slice(66, 130)}`,
      yParity: signature.endsWith('1b') ? 0 : 1,
    }
  }

  async function tryOut(): Promise<Problem | null> {
    try {
      await sign(PROBE, PROBE_MS_MAX)
      return null
    } catch (error) {
      if (isProblem(error)) return error
      throw error
    }
  }

  return {
    address,
    sign: (bytes) => sign(bytes, SIGN_MS_MAX),
    async assertReady() {
      const isOld = async () => probe === null || msSince(clock, probe.at) > ((await probe.outcome) ? BAD_MS : GOOD_MS)
      if (await isOld()) probe = { at: clock.now(), outcome: tryOut() }
      const trouble = await probe!.outcome
      if (trouble) throw trouble
    },
  }
}

function unavailable(what: string, cause?: unknown): Problem {
  return new Problem('signer_unavailable', `The signer of a key of the shop ${what}; try again later.`, { cause })
}

/** Uncompressed, without the byte that says so. */
const PUBLIC_KEY = /^0x(04)?([0-9a-f]{128})$/i

function publicKeysIn(text: string): readonly string[] | null {
  try {
    const listed: unknown = JSON.parse(text)
    if (!Array.isArray(listed)) return null
    return listed.filter((key): key is string => typeof key === 'string' && PUBLIC_KEY.test(key))
  } catch {
    return null
  }
}

function addressOf(publicKey: string): Address {
  const point = fromHex(`0x${PUBLIC_KEY.exec(publicKey)![2]!}`)
  return checksumAddress(toHex(keccak256(point).subarray(12)))
}

/** Bare, or as a JSON text; its last byte as Ethereum counts it (27, 28), or as the curve does (0, 1). */
function signatureIn(text: string): Hex | null {
  const match = /^"?0x([0-9a-f]{128})(1b|1c|00|01)"?$/i.exec(text.trim())
  if (!match) return null
  const [, point, last] = match
  return `0x${point!.toLowerCase()}${last === '00' ? '1b' : last === '01' ? '1c' : last!.toLowerCase()}`
}

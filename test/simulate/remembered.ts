import type { LoadHookSync } from 'node:module'
import { type Cut, rewriting } from './rewriting.ts'

// What comes out the same each time is worked out once in a process: where a contract may jump to, short hashes, who signed, addresses of
// keys. A sixth of a universe's time. The packages are pinned, so their text is too.

/** More than a universe needs. All is forgotten at once, and then worked out again. */
const KEPT_MAX = 50_000
/** What is longer is a block or a program, and hardly ever comes again. */
const SHORT = 200

const textOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

/** Nobody may change what others are told. */
const copyOf = (bytes: Uint8Array | null) => bytes?.slice() ?? null

function memory(): (key: string, make: () => Uint8Array | null) => Uint8Array | null {
  const kept = new Map<string, Uint8Array | null>()
  return (key, make) => {
    const known = kept.get(key)
    if (known !== undefined) return copyOf(known)
    if (kept.size >= KEPT_MAX) kept.clear()
    const value = make()
    kept.set(key, value)
    return copyOf(value)
  }
}

const digests = memory()
const signers = memory()
const publicKeys = memory()

type Hasher = (message: Uint8Array | string, options?: unknown) => Uint8Array
type Recover = (digest: Uint8Array, signature: Uint8Array, recoveryId: number, isShort?: boolean) => Uint8Array | null
type PublicKeyOf = (key: Uint8Array, isShort?: boolean) => Uint8Array | null
type Signature = { readonly recovery: number | undefined; toCompactRawBytes(): Uint8Array }

/** What the packages find when they are loaded: each hands its function in, and gets one back that remembers. */
const remembered = {
  jumps: new WeakMap<Uint8Array, unknown>(),
  hasher(hash: Hasher): Hasher {
    const remembering: Hasher = (message, options) =>
      message instanceof Uint8Array && message.length <= SHORT && options === undefined
        ? digests(textOf(message), () => hash(message))!
        : hash(message, options)
    return Object.assign(remembering, hash)
  },
  recover(recover: Recover): Recover {
    const remembering: Recover = (digest, signature, recoveryId, isShort) =>
      signers(`${recoveryId}${isShort}${textOf(digest)}${textOf(signature)}`, () =>
        recover(digest, signature, recoveryId, isShort),
      )
    remembered.quickly = remembering
    return remembering
  },
  quickly: null as Recover | null,
  /** A payer's signature is read by three packages. One is told what another has found out; null when it has to look for itself. */
  signer(signature: Signature, digest: Uint8Array | string): Uint8Array | null {
    const { recovery } = signature
    if (!remembered.quickly || (recovery !== 0 && recovery !== 1)) return null
    const bytes = typeof digest === 'string' ? Buffer.from(digest, 'hex') : digest
    try {
      return remembered.quickly(bytes, signature.toCompactRawBytes(), recovery, false)
    } catch {
      return null
    }
  },
  publicKey(publicKeyOf: PublicKeyOf): PublicKeyOf {
    return (key, isShort) => publicKeys(`${isShort}${textOf(key)}`, () => publicKeyOf(key, isShort))
  },
}

const SECP256K1_ORDER = '0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n'

/** In packages that bring their own curves along. */
const signerOfCurves = (folder: string): Cut => ({
  file: `${folder}/node_modules/@noble/curves/esm/abstract/weierstrass.js`,
  from: 'const { r, s, recovery: rec } = this;',
  to: `const known = CURVE.n === ${SECP256K1_ORDER} && globalThis.remembered.signer(this, msgHash);
            if (known) return Point.fromHex(known);
            const { r, s, recovery: rec } = this;`,
})

const keccakOf = (folder: string): Cut => ({
  file: `${folder}/node_modules/@noble/hashes/esm/sha3.js`,
  from: '(() => gen(0x01, 136, 256 / 8))();',
  to: 'globalThis.remembered.hasher(gen(0x01, 136, 256 / 8));',
})

const cuts: readonly Cut[] = [
  {
    file: '@ethereumjs/evm/dist/esm/interpreter.js',
    from: 'this._getValidJumpDestinations(this._runState.code)',
    to: `(globalThis.remembered.jumps.get(this._runState.code) ??
      (globalThis.remembered.jumps.set(this._runState.code, this._getValidJumpDestinations(this._runState.code)),
      globalThis.remembered.jumps.get(this._runState.code)))`,
  },
  {
    file: 'node_modules/@noble/hashes/sha3.js',
    from: 'genKeccak(0x01, 136, 32);',
    to: 'globalThis.remembered.hasher(genKeccak(0x01, 136, 32));',
  },
  ...['ox', 'viem'].flatMap((folder) => [keccakOf(folder), signerOfCurves(folder)]),
  {
    file: 'tiny-secp256k1/lib/index.js',
    from: 'export function recover(',
    to: 'export const recover = globalThis.remembered.recover(recoverAlways);\nfunction recoverAlways(',
  },
  {
    file: 'tiny-secp256k1/lib/index.js',
    from: 'export function pointFromScalar(',
    to: 'export const pointFromScalar = globalThis.remembered.publicKey(pointFromScalarAlways);\nfunction pointFromScalarAlways(',
  },
]

/** For `registerHooks`, before anything else is loaded. */
export function rememberingHook(): { readonly load: LoadHookSync } {
  Object.assign(globalThis, { remembered })
  return rewriting('what is remembered', cuts)
}

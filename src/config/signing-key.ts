import type { Address } from '../base/address.ts'
import type { Secret } from '../base/secret.ts'

/** Signs for us over HTTP, by the API of Web3Signer, and keeps its keys to itself. */
export type RemoteSigner = {
  readonly url: string
  /** Sent as a bearer token to whatever stands in front of it; null: nothing is sent. */
  readonly token: Secret | null
}

/** A key that we do not have: its address, and who signs with it. */
export type RemoteKey = { readonly address: Address; readonly signer: RemoteSigner }

/** A key that signs transactions: in our hands, or in those of a signer. */
export type ChainKey = Secret | RemoteKey

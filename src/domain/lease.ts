/** The right to work on something. `lease` is a fencing token: it is worth nothing once somebody else has taken the work over. */
export type Lease = { readonly kind: string; readonly key: string; readonly lease: string }

/** Somebody else has the work now. Whatever was about to be done is theirs to do, and nothing was written down. */
export class LeaseLost extends Error {
  constructor({ kind, key }: Lease) {
    super(`the lease of ${kind} ${key} was lost; nothing is signed for it here any more`)
    this.name = 'LeaseLost'
  }
}

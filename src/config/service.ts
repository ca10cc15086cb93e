import type { Hex } from '../base/hex.ts'
import type { ServiceConfig } from './config.ts'
import type { OptionReader } from './options.ts'

const SIGNATURE = /^0x[0-9a-fA-F]{130}$/

export function readService(read: OptionReader): ServiceConfig {
  const option = 'SUTLER_OWNERSHIP_PROOFS'
  const proofs = (read.optional(option) ?? '').split(/[\s,]+/).filter((proof) => proof !== '')
  if (!proofs.every((proof) => SIGNATURE.test(proof)))
    read.fault(option, 'must be signatures (0x and 130 digits each) of the public address, separated by commas', null)
  return {
    name: read.text('SUTLER_NAME', 'Sutler'),
    contactEmail: read.optional('SUTLER_CONTACT_EMAIL') ?? null,
    indexVerification: read.optional('SUTLER_402INDEX_VERIFICATION') ?? null,
    ownershipProofs: proofs as Hex[],
  }
}

import { declareRail } from '../domain/rail.ts'
import type { RailKind } from './kind.ts'
import { mpp } from './mpp/kind.ts'
import { x402 } from './x402/kind.ts'

/** All ways to pay. A new one is a folder, and a line here. */
export const rails: readonly RailKind[] = [x402, mpp]

for (const { name } of rails) declareRail(name)

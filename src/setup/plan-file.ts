import { existsSync, readFileSync } from 'node:fs'
import * as z from 'zod'
import type { Address, Hash } from '../base/address.ts'
import { canonical, stringify } from '../base/json.ts'
import { birthsOf, type DeploymentTerms } from './deployment.ts'
import { createFile, replaceFile } from './durable-file.ts'
import { SetupFault } from './fault.ts'

/** What was decided before anything was sent. Once a plan has been carried out it is a record, and nothing more is done by it. */
export type Plan = { readonly terms: DeploymentTerms; readonly isDone: boolean }

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/) as unknown as z.ZodType<Address>
const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/) as unknown as z.ZodType<Hash>
const named = { name: z.string(), symbol: z.string() }

const planFile = z.object({
  version: z.literal(1),
  isDone: z.boolean(),
  terms: z.object({
    chainId: z.number().int().positive(),
    salt: hash,
    admin: address,
    owner: address,
    lotManager: address.nullable(),
    sale: z.object({ ...named, minter: address }).nullable(),
    craft: z
      .object({
        token: z.union([address, z.object(named)]),
        collections: z.array(address),
        craftSeconds: z.number().int().nonnegative(),
        secondsPerToken: z.number().int().positive(),
        crafter: address,
      })
      .nullable(),
  }),
  contracts: z.record(z.string(), address),
})

/** Null when there is none. */
export function readPlan(path: string): Plan | null {
  if (!existsSync(path)) return null
  try {
    const { terms, isDone } = planFile.parse(JSON.parse(readFileSync(path, 'utf8')))
    return { terms, isDone }
  } catch (cause) {
    throw new SetupFault(
      'plan_unreadable',
      `${path} should hold the plan of a deployment, and cannot be read; nothing was sent. Restore it, or name another file with --plan`,
      { cause },
    )
  }
}

/** A plan that is there already must be the same. */
export function savePlan(path: string, terms: DeploymentTerms): Plan {
  const known = readPlan(path)
  if (known && canonical(known.terms) === canonical(terms)) return known
  if (known)
    throw new SetupFault(
      'other_plan',
      `${path} holds a plan that differs in ${differences(known.terms, terms).join(', ')}; nothing was sent. ` +
        'Run `sutler contracts deploy` without those options to go on with it, or name another file with --plan for another deployment',
    )
  createFile(path, textOf({ terms, isDone: false }), { mode: 0o644 })
  return { terms, isDone: false }
}

export function markDone(path: string, { terms }: Plan): void {
  replaceFile(path, textOf({ terms, isDone: true }), { mode: 0o644 })
}

function textOf({ terms, isDone }: Plan): string {
  const contracts = Object.fromEntries(birthsOf(terms).map(({ name, address }) => [name, address]))
  return `${stringify({ version: 1, isDone, terms, contracts }, 2)}\n`
}

function differences(a: DeploymentTerms, b: DeploymentTerms): readonly string[] {
  const keys = Object.keys(a) as (keyof DeploymentTerms)[]
  return keys.filter((key) => canonical(a[key]) !== canonical(b[key]))
}

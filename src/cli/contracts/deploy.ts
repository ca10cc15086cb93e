import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { sameAddress } from '../../base/address.ts'
import { assertAffordable } from '../../setup/cost.ts'
import { addressIn, birthsOf, deploymentSteps, placesOf } from '../../setup/deployment.ts'
import { fillOption } from '../../setup/env-file.ts'
import { assertFactory } from '../../setup/factory.ts'
import { SetupFault } from '../../setup/fault.ts'
import { markDone, type Plan, readPlan, savePlan } from '../../setup/plan-file.ts'
import { contractFacts } from '../../setup/status.ts'
import type { Crew } from '../../setup/step-runner.ts'
import type { Command, CommandCall } from '../command.ts'
import type { Output } from '../output.ts'
import { factsJson, factsText } from './facts.ts'
import { hasTerms, readTerms, termOptions } from './terms.ts'
import {
  bringAbout,
  type ContractsOutcome,
  contractSigningOptions,
  openWorkplace,
  outcomeJson,
  outcomeText,
  type Workplace,
  withCrew,
} from './workplace.ts'

export const deployContracts: Command = {
  args: '',
  about: [
    "Makes the sale contract and the craft controller on the game's chain from the code of this release, gives the keys of the shop their",
    'roles, hands everything else to the owner, and then reads back from the chain that all of it is so.',
    '',
    'A plan is written before anything is sent, addresses are known beforehand, and signed bytes are on the disk before they leave. After a',
    'crash, run `sutler contracts deploy` again: it goes on where it was. Addresses are filled into .env where they are missing.',
  ].join('\n'),
  options: {
    ...contractSigningOptions,
    ...termOptions,
    plan: { value: 'file', about: 'where the plan is kept; else contracts.<chain id>.json here' },
    env: { value: 'file', about: 'where the addresses are filled in; else .env here' },
  },
  examples: [
    [
      'sutler contracts deploy --key-file keys/deployer.key --owner 0x52c7… --only sale',
      'lots only, owned by a cold address',
    ],
    ['sutler contracts deploy --key-file keys/deployer.key --owner 0x52c7… --craft-token Ember:EMBER', 'with crafting'],
    ['sutler contracts deploy --owner 0x52c7… --only sale --unsigned deploy.json', 'by a Safe, with no key at all'],
  ],
  async run(call) {
    const workplace = await openWorkplace(call)
    await assertFactory(workplace.rpc)
    return withCrew(call, workplace, async (crew) => {
      const path = resolve(call.option('plan') ?? `contracts.${workplace.rpc.chainId}.json`)
      const plan = choosePlan(call, workplace, crew, path)
      const steps = plan.isDone ? [] : deploymentSteps(plan.terms)
      if (crew) await assertAffordable(crew, steps)
      const outcome = await bringAbout(call, workplace, { crew, steps, title: 'Contracts of the shop' })
      return finish(call, workplace, { plan, path, outcome })
    })
  },
}

/** The plan is on the disk before anything is sent. */
function choosePlan(call: CommandCall, { config }: Workplace, crew: Crew | null, path: string): Plan {
  const known = readPlan(path)
  const deployer = crew?.wallet.address ?? null
  const plan = known && !hasTerms(call) ? known : savePlan(path, readTerms(call, config, deployer))
  const { admin, chainId } = plan.terms
  if (chainId !== config.chain.chainId)
    throw new SetupFault(
      'other_chain',
      `${path} is a plan for chain ${chainId}; nothing was sent. Name another file with --plan`,
    )
  if (deployer !== null && !plan.isDone && !sameAddress(admin, deployer))
    throw new SetupFault(
      'other_key',
      `${path} was begun by ${admin}, and this key is ${deployer}; nothing was sent. ` +
        'Go on with the key that began, or name another file with --plan to begin anew',
    )
  return plan
}

async function finish(
  call: CommandCall,
  { config, rpc }: Workplace,
  { plan, path, outcome }: { readonly plan: Plan; readonly path: string; readonly outcome: ContractsOutcome },
): Promise<Output> {
  const births = birthsOf(plan.terms)
  const contracts = Object.fromEntries(births.map(({ name, address }) => [name, address]))
  const isThere = outcome.kind === 'sent' || outcome.steps.length === 0
  const { terms } = plan
  const looked = {
    places: placesOf(births),
    terms,
    minter: terms.sale?.minter ?? null,
    crafter: terms.craft?.crafter ?? null,
  }
  const facts = isThere ? await contractFacts(rpc, looked) : []
  const isGood = facts.every(({ isRight }) => isRight)
  if (isThere && isGood && !plan.isDone) markDone(path, plan)
  const filled = isThere && isGood ? fillIn(call, births) : []
  const { table } = call.terminal
  return {
    json: {
      chainId: config.chain.chainId,
      plan: path,
      contracts,
      ...outcomeJson(outcome),
      facts: factsJson(facts),
      filled,
    },
    text: [
      outcomeText(outcome),
      table(Object.entries(contracts).map(([name, address]) => [`  ${name}`, address])),
      ...(facts.length > 0 ? ['', factsText(facts, call.terminal)] : []),
      ...(filled.length > 0 ? ['', ...filled] : []),
      '',
      nextText(outcome, isGood),
    ].join('\n'),
    isGood,
  }
}

/** The shop finds its contracts by these two lines. */
function fillIn(call: CommandCall, births: ReturnType<typeof birthsOf>): readonly string[] {
  const file = call.option('env') ?? '.env'
  const options = [
    ['SUTLER_SALE_CONTRACT', addressIn(births, 'sale')],
    ['SUTLER_CRAFT_CONTROLLER', addressIn(births, 'craft')],
  ] as const
  return options.flatMap(([name, address]) => {
    if (address === null) return []
    if (!existsSync(file)) return [`set ${name}=${address}`]
    const written = fillOption(resolve(file), name, address)
    if (written === 'kept')
      return [`${file} has another ${name} and was not changed; for these contracts set ${name}=${address}`]
    return [`${file} has ${name}=${address}`]
  })
}

function nextText(outcome: ContractsOutcome, isGood: boolean): string {
  if (!isGood) return 'Not everything is as planned: see above, and run `sutler contracts status` again later'
  if (outcome.kind === 'unsigned' && outcome.steps.length > 0)
    return 'Next: when the Safe has executed the batch, run the same line again; it checks the chain and fills in .env'
  return 'Next: put something on sale, then `sutler doctor`'
}

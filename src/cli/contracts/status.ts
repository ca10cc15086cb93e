import { resolve } from 'node:path'
import { addressOf } from '../../outbox/wallet.ts'
import type { RolePlace } from '../../setup/contract-roles.ts'
import { birthsOf, placesOf } from '../../setup/deployment.ts'
import { SetupFault } from '../../setup/fault.ts'
import { readPlan } from '../../setup/plan-file.ts'
import { contractFacts } from '../../setup/status.ts'
import type { Command } from '../command.ts'
import { factsJson, factsText } from './facts.ts'
import { openWorkplace, type Workplace } from './workplace.ts'

export const contractsStatus: Command = {
  args: '',
  about:
    'Reads from the chain what stands at the addresses of the contracts: whether it is the code of this release, who has which role among\nthose we know, and whether it is paused. Exit code 1 when something is not as it should be.',
  options: { plan: { value: 'file', about: 'the plan of the deployment; else contracts.<chain id>.json here' } },
  examples: [['sutler contracts status', 'after a deployment, a rotation, or an odd delivery']],
  async run(call) {
    const workplace = await openWorkplace(call)
    const { config, rpc } = workplace
    const plan = readPlan(resolve(call.option('plan') ?? `contracts.${rpc.chainId}.json`))
    const planned = plan ? placesOf(birthsOf(plan.terms)) : []
    const configured = configuredPlaces(workplace)
    const places = [...configured, ...planned.filter(({ name }) => !configured.some((one) => one.name === name))]
    if (places.length === 0)
      throw new SetupFault(
        'no_contracts',
        'no contract is configured, and there is no plan of a deployment here; make them with `sutler contracts deploy`',
      )
    const { minterKey, crafterKey } = config
    const facts = await contractFacts(rpc, {
      places,
      terms: plan?.terms ?? null,
      minter: minterKey ? addressOf(minterKey) : null,
      crafter: crafterKey ? addressOf(crafterKey) : null,
    })
    const isGood = facts.every(({ isRight }) => isRight)
    return {
      json: { chainId: rpc.chainId, contracts: places.map((place) => ({ ...place })), facts: factsJson(facts) },
      text: factsText(facts, call.terminal),
      isGood,
    }
  },
}

export function configuredPlaces({ config: { sale, craft } }: Workplace): readonly RolePlace[] {
  return [
    ...(sale ? [{ name: 'sale' as const, address: sale }] : []),
    ...(craft ? [{ name: 'craft' as const, address: craft }] : []),
  ]
}

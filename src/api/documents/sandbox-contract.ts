import type { JsonObject } from '../../base/json.ts'
import type { Facts } from '../facts/facts.ts'
import { answersAt } from './answers.ts'
import { createComponents } from './components.ts'
import { contract } from './contract.ts'
import { pathsOf } from './openapi.ts'
import { freeOperation } from './operations.ts'

/** `/openapi.sandbox.json`: what is there only because the money is play money. */
export function sandboxContract(facts: Facts): JsonObject {
  const components = createComponents()
  const answers = answersAt(facts.origin)
  const operations = facts.sandboxRoutes.map((route) => {
    const operation = { ...freeOperation(components, route, answers), tags: ['sandbox'] }
    return [route, operation] as const
  })
  return contract(facts, {
    title: `${facts.config.service.name}: the sandbox`,
    description:
      'Keys, a faucet, players and the chains of the sandbox. None of this is there where money is real: a client that needs it is not finished.',
    tags: { sandbox: 'Play money, and what to try out with it' },
    paths: pathsOf(facts, operations),
    components: components.all(),
  })
}

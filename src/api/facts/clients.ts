import { stringify } from '../../base/json.ts'
import type { Recipe, SoldRoute } from '../../domain/rail-documents.ts'
import type { Facts } from './facts.ts'
import { protocolWords } from './guidance.ts'
import { railFacts } from './rail-facts.ts'

/** One recipe for each stock client that can buy at this host. A test runs each of them as it stands. */
export function recipes(facts: Facts): readonly Recipe[] {
  const ways = facts.rails.flatMap((rail) => {
    const own = railFacts(facts, rail)
    const route = exampleRoute(facts, own.sold)
    return route ? [{ documents: rail.documents, own, route }] : []
  })
  const overMcp = ways.flatMap(({ documents, own, route }) => documents.mcpRecipe?.(own, route) ?? [])
  return [...ways.map(({ documents, own, route }) => documents.recipe(own, route)), overMcp[0] ?? mcpSetting(facts)]
}

/** The plainest way to see a purchase through: a route whose example can be delivered to anybody. */
function exampleRoute({ surfaces }: Facts, sold: readonly SoldRoute[]): SoldRoute | undefined {
  const plain = surfaces.filter(({ suitsAnybody }) => suitsAnybody).map(({ name }) => name)
  const [first = sold[0]] = plain.flatMap((name) => sold.filter(({ surface }) => surface === name))
  return first
}

/** For protocols without a client that pays a tool by itself. */
function mcpSetting(facts: Facts): Recipe {
  return {
    client: 'MCP',
    title: 'MCP, from an assistant',
    words: `Looking, quoting and status cost nothing. Paid tools take ${protocolWords(facts)} payments inside the call.`,
    language: 'json',
    code: stringify({ mcpServers: { sutler: { type: 'http', url: facts.mcpUrl } } }, 2),
  }
}

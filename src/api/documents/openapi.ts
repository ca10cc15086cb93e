import type { JsonObject } from '../../base/json.ts'
import type { FreeRoute, Route } from '../../domain/route.ts'
import type { Facts } from '../facts/facts.ts'
import { guidance, tagline } from '../facts/guidance.ts'
import { answersHere } from './answers.ts'
import { createComponents } from './components.ts'
import { type ContractParts, contract } from './contract.ts'
import { mcpOperation } from './mcp-card.ts'
import { freeOperation, paidOperation, tagOf, tagsOf } from './operations.ts'
import { webhookOperations } from './webhooks.ts'

// Both are printed but for their prices before they are first asked for: the routes of a host never change.

/** `/openapi.json`: what can be bought at this host. */
export function payableContract(first: Facts): (facts: Facts) => JsonObject {
  const components = createComponents()
  const answers = answersHere(first.origin, first.rails)
  const operations = first.paid.map(({ route }) => paidOperation(components, route, first, answers))
  const printed = components.all()
  return (facts) => {
    const priced = facts.paid.map((priced, i) => [priced.route, operations[i]!(facts, priced)] as const)
    return contract(facts, { ...payableParts(facts), paths: pathsOf(facts, priced), components: printed })
  }
}

function payableParts(facts: Facts): Omit<ContractParts, 'paths' | 'components'> {
  return {
    title: facts.config.service.name,
    description: `${tagline(facts)} These are the paid operations; the free ones are in [openapi.full.json](${facts.origin}/openapi.full.json).`,
    guidance: guidance(facts),
    tags: tagsUsed(
      facts,
      facts.paid.map(({ route }) => tagOf(route)),
    ),
    members: {
      'x-service-info': {
        categories: ['commerce', 'gaming', 'nft'],
        docs: {
          homepage: facts.origin,
          apiReference: `${facts.origin}/docs`,
          llms: `${facts.origin}/llms.txt`,
        },
      },
      'x-agentcash-guidance': { llmsTxtUrl: `${facts.origin}/llms.txt` },
      ...provenance(facts),
    },
  }
}

/** `/openapi.full.json`: everything else at this host. Reads, quotes, statuses, documents, `/mcp`, and what webhooks say. */
export function fullContract(first: Facts): (facts: Facts) => JsonObject {
  const components = createComponents()
  const answers = answersHere(first.origin, first.rails)
  const free = first.routes.filter((route): route is FreeRoute => route.kind === 'free')
  const operations = free.map((route) => [route, freeOperation(components, route, answers)] as const)
  const mcp = mcpOperation(components, first, answers)
  const paths = { ...pathsOf(first, operations), ...(mcp ? { '/mcp': { post: mcp } } : {}) }
  const webhooks = webhookOperations(components, first)
  const printed = components.all()
  return (facts) =>
    contract(facts, {
      title: `${facts.config.service.name}: free operations`,
      description: `${tagline(facts)} These are the free operations; the paid ones are in [openapi.json](${facts.origin}/openapi.json).`,
      guidance: guidance(facts),
      tags: tagsUsed(facts, [...free.map(tagOf), ...(mcp ? (['mcp'] as const) : []), 'webhooks']),
      paths,
      webhooks,
      components: printed,
    })
}

function tagsUsed(facts: Facts, used: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(tagsOf(facts)).filter(([name]) => used.includes(name)))
}

/** Where keys of the addresses that are paid have signed for this origin. The second name is what older readers look for. */
function provenance({ proofs }: Facts): JsonObject {
  if (proofs.length === 0) return {}
  const claim = { ownershipProofs: [...proofs] }
  return { 'x-agentcash-provenance': claim, 'x-discovery': claim }
}

export function pathsOf({ origin }: Facts, operations: readonly (readonly [Route, JsonObject])[]): JsonObject {
  const byPath = Map.groupBy(operations, ([{ path }]) => path)
  return Object.fromEntries(
    [...byPath].map(([path, onPath]) => {
      const entries = onPath.map(([route, operation]) => {
        // Whoever reads of both hosts at once, as an MCP client does, is told where each route is.
        const server = route.host === 'both' ? origin : route.host
        return [
          route.method.toLowerCase(),
          server === origin ? operation : { ...operation, servers: [{ url: server }] },
        ]
      })
      return [path, Object.fromEntries(entries)]
    }),
  )
}

import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import type { Facts } from '../facts/facts.ts'
import { protocolWords } from '../facts/guidance.ts'
import { iconsAt } from '../mcp/icons.ts'
import { LEGACY_REVISIONS, SUPPORTED_REVISIONS } from '../mcp/protocol.ts'
import { type Answers, exampleOf } from './answers.ts'
import type { Components } from './components.ts'
import { content, JSON_TYPE } from './responses.ts'

const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'
export const CARD_TYPE = 'application/mcp-server-card+json'
export const AI_CATALOG_TYPE = 'application/ai-catalog+json'

export const serverCardSchema = z
  .object({
    $schema: z.literal(CARD_SCHEMA),
    name: z.string(),
    version: z.string(),
    title: z.string(),
    description: z.string().max(100),
    websiteUrl: z.string(),
    icons: z.array(z.object({ src: z.string(), mimeType: z.string(), sizes: z.array(z.string()) })),
    remotes: z.array(
      z.object({
        type: z.literal('streamable-http'),
        url: z.string(),
        supportedProtocolVersions: z.array(z.string()),
      }),
    ),
  })
  .meta({
    id: 'McpServerCard',
    description: 'Where the MCP server is and what it speaks; its tools are listed by itself',
  })

const REGISTRY_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

export const registryEntrySchema = serverCardSchema
  .omit({ $schema: true, remotes: true })
  .extend({
    $schema: z.literal(REGISTRY_SCHEMA),
    remotes: z.array(z.object({ type: z.literal('streamable-http'), url: z.string() })),
  })
  .meta({ id: 'McpRegistryEntry', description: 'The MCP server, as the MCP registry takes it' })

/** What `mcp-publisher` hands to the MCP registry. */
export function registryEntry(facts: Facts): z.output<typeof registryEntrySchema> {
  const { remotes, ...card } = serverCard(facts)
  return { ...card, $schema: REGISTRY_SCHEMA, remotes: remotes.map(({ type, url }) => ({ type, url })) }
}

/** What registries read before they connect (SEP-2127). */
export function serverCard(facts: Facts): z.output<typeof serverCardSchema> {
  const { config, origin, mcpUrl, version } = facts
  return {
    $schema: CARD_SCHEMA,
    // The same name as the server itself answers with, below the host's name turned round.
    name: `${new URL(mcpUrl).hostname.split('.').toReversed().join('.')}/sutler`,
    version,
    title: config.service.name.slice(0, 100),
    description: `A shop for software agents: look, quote and buy, paid with ${protocolWords(facts)}`,
    websiteUrl: origin,
    icons: iconsAt(origin),
    remotes: [{ type: 'streamable-http', url: mcpUrl, supportedProtocolVersions: [...SUPPORTED_REVISIONS] }],
  }
}

export const aiCatalogSchema = z
  .object({
    specVersion: z.literal('1.0'),
    host: z.object({ displayName: z.string(), documentationUrl: z.string() }),
    entries: z.array(z.object({ identifier: z.string(), displayName: z.string(), type: z.string(), url: z.string() })),
  })
  .meta({ id: 'AiCatalog', description: 'Which AI artifacts are found at this host' })

export function aiCatalog({ config, origin, mcpUrl }: Facts): z.output<typeof aiCatalogSchema> {
  const { name } = config.service
  return {
    specVersion: '1.0',
    host: { displayName: name, documentationUrl: `${origin}/docs` },
    entries: [
      {
        identifier: `urn:air:${new URL(mcpUrl).hostname}:mcp:sutler`,
        displayName: name,
        type: CARD_TYPE,
        url: `${mcpUrl}/server-card`,
      },
    ],
  }
}

const requestSchema = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.int()]).exactOptional().describe('Left out by notifications, which get no answer'),
    method: z.string().describe('initialize, tools/list, tools/call, resources/list, resources/read, ping'),
    params: z.looseObject({}).exactOptional(),
  })
  .meta({ id: 'JsonRpcRequest' })

const responseSchema = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.int()]).exactOptional(),
    result: z.looseObject({}).exactOptional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).exactOptional(),
  })
  .meta({ id: 'JsonRpcResponse' })

const example = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: LEGACY_REVISIONS[0],
    capabilities: {},
    clientInfo: { name: 'my-agent', version: '1.0.0' },
  },
}

/** `POST /mcp` (contract 4.4.1), which is no row of the table: it speaks another protocol. Null where the other host serves it. */
export function mcpOperation(components: Components, facts: Facts, answers: Answers): JsonObject | null {
  if (!facts.hasMcp) return null
  const response = components.schema(responseSchema, 'output')
  const answer = content(response)
  return {
    operationId: 'postMcp',
    tags: ['mcp'],
    summary: 'JSON-RPC 2.0: the Model Context Protocol',
    description: `The whole shop as tools. Paid tools take ${protocolWords(facts)} payments in _meta. Public, stateless, one JSON answer for each request.`,
    security: [],
    requestBody: { required: true, ...content(components.schema(requestSchema, 'input'), JSON_TYPE, { example }) },
    responses: {
      200: {
        description: 'A result, or an error inside the protocol',
        ...content(response, JSON_TYPE, exampleOf(answers, 'POST /mcp', 200)),
      },
      202: { description: 'A notification was taken' },
      400: { description: 'Not a JSON-RPC request', ...answer },
      403: { description: 'This Origin or Host may not call', ...answer },
    },
  }
}

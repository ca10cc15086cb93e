import { stringify } from '../../base/json.ts'
import type { Calls } from './calls.ts'
import { type Dialect, envelope, type McpRequest } from './dialect.ts'
import { promptOf } from './prompts.ts'
import { CODE, isObject, McpError, META, type Members, MODERN_REVISIONS, SUPPORTED_REVISIONS } from './protocol.ts'
import type { McpServer } from './server.ts'
import { createToolList } from './tool-list.ts'

/** Lists change only with a new start of the service. */
const LIST_TTL_MS = 60_000

/**
 * Revision 2026-07-28: no handshake, every request carries its own envelope, and headers repeat what a proxy may want to see. Clients
 * of both dialects fall back to `initialize` only on errors they do not know, so codes and statuses here are exact.
 */
export function modernDialect(server: McpServer, calls: Calls): Dialect {
  const { info, instructions, tools, resources, templates, prompts } = server
  const hasResources = resources.length > 0
  const capabilities = {
    tools: {},
    ...(prompts.length > 0 ? { prompts: {} } : {}),
    ...(hasResources ? { resources: {} } : {}),
    ...server.capabilities.modern,
  }
  const meta = { [META.serverInfo]: info }
  const cached = { ttlMs: LIST_TTL_MS, cacheScope: 'public' }
  const list = (members: Members) => stringify({ resultType: 'complete', ...members, ...cached, _meta: meta })
  const toolList = createToolList(tools, (listings) => list({ tools: listings }))
  const lists = new Map<string, string>()
  if (prompts.length > 0) lists.set('prompts/list', list({ prompts: prompts.map(({ listing }) => listing) }))
  if (hasResources) {
    lists.set('resources/list', list({ resources: resources.map(({ listing }) => listing) }))
    lists.set('resources/templates/list', list({ resourceTemplates: templates.map(({ listing }) => listing) }))
  }
  const discovery = list({ supportedVersions: SUPPORTED_REVISIONS, capabilities, instructions })
  const complete = (result: Members) =>
    stringify({ resultType: 'complete', ...result, _meta: { ...(result['_meta'] as Members | undefined), ...meta } })

  return {
    async answer(question) {
      const { id, method, params, http } = question
      const { meta, clientCapabilities } = openEnvelope(question)
      const list = method === 'tools/list' ? await toolList() : lists.get(method)
      if (list !== undefined) {
        if (params['cursor'] !== undefined) throw new McpError(CODE.invalidParams, 'Unknown cursor: lists are one page')
        return envelope(id, list)
      }
      if (method === 'prompts/get' && prompts.length > 0) return envelope(id, complete(promptOf(prompts, params)))
      switch (method) {
        case 'server/discover':
          return envelope(id, discovery)
        case 'tools/call':
          return envelope(
            id,
            complete(await calls.callTool(params, { dialect: 'modern', meta, clientCapabilities, http })),
          )
        case 'resources/read': {
          const { uri } = params
          const found = typeof uri === 'string' ? await calls.readResource(uri, http) : null
          if (!found) throw new McpError(CODE.invalidParams, 'Resource not found', { data: { uri: String(uri) } })
          return envelope(id, complete({ ...found, ttlMs: 0, cacheScope: 'public' }))
        }
        default:
          throw new McpError(CODE.methodNotFound, 'Method not found', { status: 404 })
      }
    },
  }
}

/** Compares the envelope with the headers that repeat it. */
function openEnvelope({ method, params, http }: McpRequest): { meta: Members; clientCapabilities: Members } {
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  const revision = meta[META.revision]
  if (typeof revision !== 'string') throw missing(META.revision)
  const header = http.header('mcp-protocol-version')
  if (header !== revision) throw mismatch('MCP-Protocol-Version', header, revision)
  if (!(MODERN_REVISIONS as readonly string[]).includes(revision))
    throw new McpError(CODE.unsupportedRevision, 'Unsupported protocol version', {
      status: 400,
      data: { supported: SUPPORTED_REVISIONS, requested: revision },
    })
  const said = http.header('mcp-method')
  if (said !== method) throw mismatch('Mcp-Method', said, method)
  const subject = subjectOf(method, params)
  if (subject !== undefined) {
    const name = http.header('mcp-name')
    if (name === undefined || decoded(name) !== subject) throw mismatch('Mcp-Name', name, String(subject))
  }
  const clientCapabilities = meta[META.clientCapabilities]
  if (!isObject(clientCapabilities)) throw missing(META.clientCapabilities)
  return { meta, clientCapabilities }
}

/** What the `Mcp-Name` header repeats. */
function subjectOf(method: string, params: Members): unknown {
  if (method === 'tools/call' || method === 'prompts/get') return params['name'] ?? null
  return method === 'resources/read' ? (params['uri'] ?? null) : undefined
}

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** Names that do not fit a header travel in base64. */
function decoded(header: string): string {
  const [, encoded] = ENCODED.exec(header) ?? []
  return encoded === undefined ? header : Buffer.from(encoded, 'base64').toString('utf8')
}

function missing(key: string): McpError {
  return new McpError(CODE.invalidParams, `Missing required _meta["${key}"]`, { status: 400 })
}

function mismatch(header: string, said: string | undefined, meant: string): McpError {
  const what = said === undefined ? 'is missing' : `is '${said.slice(0, 128)}'`
  return new McpError(
    CODE.headerMismatch,
    `Header mismatch: ${header} ${what}, the body says '${meant.slice(0, 128)}'`,
    {
      status: 400,
    },
  )
}

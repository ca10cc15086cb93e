import { stringify } from '../../base/json.ts'
import type { Calls } from './calls.ts'
import { type Dialect, envelope } from './dialect.ts'
import { promptOf } from './prompts.ts'
import { CODE, isObject, LEGACY_REVISIONS, McpError } from './protocol.ts'
import type { McpServer } from './server.ts'
import { createToolList } from './tool-list.ts'

/** Revisions up to 2025-11-25. Stateless: `initialize` is answered and forgotten, and no session is ever issued. */
export function legacyDialect(server: McpServer, calls: Calls): Dialect {
  const { info: serverInfo, instructions, tools, resources, templates, prompts } = server
  const capabilities = {
    tools: {},
    ...(prompts.length > 0 ? { prompts: {} } : {}),
    ...(resources.length > 0 ? { resources: {} } : {}),
    ...server.capabilities.legacy,
  }
  const welcome = new Map<string, string>(
    LEGACY_REVISIONS.map((protocolVersion) => [
      protocolVersion,
      stringify({ protocolVersion, capabilities, serverInfo, instructions }),
    ]),
  )
  const toolList = createToolList(tools, (listings) => stringify({ tools: listings }))
  const lists = new Map<string, string>()
  if (prompts.length > 0) lists.set('prompts/list', stringify({ prompts: prompts.map(({ listing }) => listing) }))
  if (resources.length > 0) {
    lists.set('resources/list', stringify({ resources: resources.map(({ listing }) => listing) }))
    lists.set('resources/templates/list', stringify({ resourceTemplates: templates.map(({ listing }) => listing) }))
  }

  return {
    async answer({ id, method, params, http }) {
      if (method === 'initialize') {
        assertIntroduced(params)
        return envelope(id, negotiate(params['protocolVersion']))
      }
      const revision = http.header('mcp-protocol-version')
      if (revision !== undefined && !welcome.has(revision)) throw unsupported(revision)
      const list = method === 'tools/list' ? await toolList() : lists.get(method)
      if (list !== undefined) {
        if (params['cursor'] !== undefined) throw new McpError(CODE.invalidParams, 'Unknown cursor: lists are one page')
        return envelope(id, list)
      }
      if (method === 'prompts/get' && prompts.length > 0) return envelope(id, stringify(promptOf(prompts, params)))
      switch (method) {
        case 'ping':
          return envelope(id, '{}')
        case 'tools/call': {
          const meta = isObject(params['_meta']) ? params['_meta'] : {}
          return envelope(
            id,
            stringify(await calls.callTool(params, { dialect: 'legacy', meta, clientCapabilities: {}, http })),
          )
        }
        case 'resources/read': {
          const { uri } = params
          const found = typeof uri === 'string' ? await calls.readResource(uri, http) : null
          if (!found) throw new McpError(CODE.resourceNotFound, 'Resource not found', { data: { uri: String(uri) } })
          return envelope(id, stringify(found))
        }
        default:
          throw new McpError(CODE.methodNotFound, 'Method not found')
      }
    },
  }

  /** The requested revision when it is known, otherwise our newest of this dialect: the client then decides. Never an error. */
  function negotiate(requested: unknown): string {
    if (typeof requested !== 'string')
      throw new McpError(CODE.invalidParams, 'params.protocolVersion must be a string', {
        data: { supported: LEGACY_REVISIONS },
      })
    return welcome.get(requested) ?? welcome.get(LEGACY_REVISIONS[0])!
  }
}

/** Nothing here depends on what a client says of itself, but what it says has the types of the protocol. */
function assertIntroduced({ capabilities = {}, clientInfo = {} }: Readonly<Record<string, unknown>>): void {
  const isWhole =
    isObject(capabilities) &&
    isObject(clientInfo) &&
    [clientInfo['name'], clientInfo['version']].every((told) => told === undefined || typeof told === 'string')
  if (!isWhole)
    throw new McpError(
      CODE.invalidParams,
      'params.capabilities must be an object, and name and version in params.clientInfo strings',
    )
}

function unsupported(requested: string): McpError {
  return new McpError(CODE.invalidRequest, `Unsupported MCP-Protocol-Version: ${requested.slice(0, 40)}`, {
    status: 400,
    data: { supported: LEGACY_REVISIONS, requested },
  })
}

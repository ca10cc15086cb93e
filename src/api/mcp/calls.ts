import type { JsonObject } from '../../base/json.ts'
import type { Log } from '../../base/log.ts'
import { isProblem } from '../../base/problem.ts'
import { asProblem } from '../http/problem-body.ts'
import type { HttpRequest } from '../http/request.ts'
import type { ProblemResults } from './problem-result.ts'
import { CODE, isObject, McpError, type Members } from './protocol.ts'
import type { McpServer, McpTemplate, McpTool, ResourceContent, ToolCall, ToolResult } from './server.ts'

/** The methods that do something, the same in both dialects. */
export type Calls = {
  callTool(params: Members, call: ToolCall): Promise<ToolResult>
  /** Null: there is no such resource; each dialect has its own code for that. */
  readResource(uri: string, http: HttpRequest): Promise<{ readonly contents: readonly JsonObject[] } | null>
}

export function createCalls(server: McpServer, problemResult: ProblemResults, log: Log): Calls {
  // Maps, because names come from strangers: a plain object would know a tool called `constructor`.
  const tools = new Map(server.tools.map((tool) => [tool.name, tool]))
  const resources = new Map(server.resources.map((resource) => [resource.listing.uri, resource]))

  async function run(tool: McpTool, input: JsonObject, call: ToolCall): Promise<ToolResult> {
    try {
      return await tool.call(input, call)
    } catch (error) {
      if (error instanceof McpError) throw error
      const problem = asProblem(error)
      if (!isProblem(error) || problem.status >= 500)
        log.error('tool failed', { tool: tool.name, code: problem.code, error })
      return problemResult(problem)
    }
  }

  return {
    async callTool(params, call) {
      const { name, arguments: input = {} } = params
      const tool = typeof name === 'string' ? tools.get(name) : undefined
      if (!tool) throw new McpError(CODE.invalidParams, `Unknown tool: ${String(name).slice(0, 128)}`)
      if (!isObject(input)) throw new McpError(CODE.invalidParams, 'params.arguments must be an object')
      return run(tool, input as JsonObject, call)
    },

    async readResource(uri, http) {
      const known = resources.get(uri)
      if (known) return contents(uri, known.listing.mimeType, await known.read(http))
      const family = server.templates.find(({ prefix }) => uri.startsWith(prefix))
      return family ? readFrom(family, uri, http) : null
    },
  }
}

const NAME_CHARS_MAX = 160

/** What is not there is no resource; what cannot be asked for now is an error like any other. */
async function readFrom({ prefix, listing, read }: McpTemplate, uri: string, http: HttpRequest) {
  const value = uri.slice(prefix.length)
  if (value === '' || value.length > NAME_CHARS_MAX) return null
  try {
    return contents(uri, listing.mimeType, await read(value, http))
  } catch (error) {
    if (isProblem(error) && error.status === 404) return null
    throw error
  }
}

function contents(uri: string, mimeType: string, content: ResourceContent) {
  return { contents: [{ uri, mimeType, ...content }] }
}

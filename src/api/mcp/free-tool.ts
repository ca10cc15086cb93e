import { type JsonObject, stringify } from '../../base/json.ts'
import { isProblem } from '../../base/problem.ts'
import type { FreeCall, FreeRoute } from '../../domain/route.ts'
import type { ToolDescription } from '../../domain/tool-description.ts'
import { noInput } from '../facts/json-schema.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { parseWith } from '../http/parse.ts'
import { inputSchemaOf, listingOf, outputSchemaOf } from './listing.ts'
import { type McpTool, type ToolResult, text } from './server.ts'

/** A free route as a tool: the same schema, the same handler, the same answer. */
export function freeTool(tool: ToolDescription, rows: readonly FreeRoute[], limiter: RateLimiter): McpTool {
  const [row] = rows
  if (!row?.result) throw new TypeError(`tool ${tool.name} has no route that answers JSON`)
  const { bucket, result } = row
  return {
    name: tool.name,
    listing: () =>
      listingOf(tool, {
        inputSchema: inputSchemaOf(tool.input ?? parametersOf(row)),
        outputSchema: outputSchemaOf(result),
      }),
    async call(input, { http }) {
      if (bucket) limiter.take(bucket, http)
      return answered(await ask(rows, requestOfCall(tool, input)))
    },
  }
}

/** What the routes answer: the first that knows the payment that is asked about; every other question is the first one's. */
async function ask(rows: readonly FreeRoute[], request: JsonObject): Promise<JsonObject> {
  for (const [index, row] of rows.entries()) {
    try {
      return await callRoute(row, request)
    } catch (error) {
      if (!isProblem(error, 'payment_not_found') || index === rows.length - 1) throw error
    }
  }
  throw new TypeError('a tool without a route was asked')
}

/** Calls a route from within, with its parameters wherever it takes them: body, query or path. */
export async function callRoute(row: FreeRoute, request: JsonObject): Promise<JsonObject> {
  const answer = await handled(row, parseWith(parametersOf(row), request))
  // A listing that is the same for everybody is kept as text.
  return typeof answer === 'string' ? (JSON.parse(answer) as JsonObject) : answer
}

export async function handled(row: FreeRoute, parameters: unknown): Promise<JsonObject | string> {
  const nothing = { params: {}, query: {}, body: {}, bytes: new Uint8Array(), header: () => undefined }
  return (await row.handle({ ...nothing, [placeOf(row)]: parameters, host: 'both' })).body
}

function placeOf(row: FreeRoute): keyof Pick<FreeCall<unknown, unknown, unknown>, 'params' | 'query' | 'body'> {
  if (row.body) return 'body'
  return row.query ? 'query' : 'params'
}

function parametersOf(row: FreeRoute) {
  return row[placeOf(row)] ?? noInput
}

export function requestOfCall({ input: schema, request }: ToolDescription, input: JsonObject): JsonObject {
  const parsed = schema ? parseWith(schema, input) : input
  return request ? request(parsed) : parsed
}

/** The same value twice, as the protocol asks: for machines, and as text for hosts that show a model nothing else. */
export function answered(value: JsonObject): ToolResult {
  return { content: [text(stringify(value))], structuredContent: value }
}

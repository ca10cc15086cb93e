import type { JsonObject } from '../../base/json.ts'
import { inlineSchema } from '../facts/json-schema.ts'
import type { OperatorRoute } from '../operator/route.ts'
import { type Answers, answersAt } from './answers.ts'
import { type Components, createComponents } from './components.ts'
import { type ContractSite, contract } from './contract.ts'
import { operationId, parametersIn } from './operations.ts'
import { anyProblem, content, JSON_TYPE, problemResponse } from './responses.ts'

/** What a contract reads of an operator's row. */
type OperatorRowTold = Pick<OperatorRoute, 'method' | 'path' | 'summary' | 'params' | 'query' | 'body'> & {
  /** The least that may call it, where there are roles; null: whoever wants in. */
  readonly role?: string | null
}

/** `/openapi.operator.json`: what the people who run the shop may ask and do. Only they are told. */
export function operatorContract(site: ContractSite, rows: readonly OperatorRowTold[]): JsonObject {
  const components = createComponents()
  components.shared('securitySchemes', 'operator', () => ({
    type: 'http',
    scheme: 'bearer',
    description: 'SUTLER_OPERATOR_TOKEN of the shop, or a token that an operator was given',
  }))
  const answers = answersAt(site.origin)
  const byPath = Map.groupBy(rows, ({ path }) => path)
  const paths = [...byPath].map(([path, onPath]) => [
    path,
    Object.fromEntries(onPath.map((row) => [row.method.toLowerCase(), operation(components, row, answers)])),
  ])
  return contract(site, {
    title: `${site.config.service.name}: for operators`,
    description:
      'Orders, refunds, money without an order, shelves, prices, players, webhooks, events and figures. Not public: whoever reads it has shown credentials of an operator.',
    tags: tagsUsed(rows),
    paths: Object.fromEntries(paths),
    components: components.all(),
  })
}

function operation(components: Components, row: OperatorRowTold, answers: Answers): JsonObject {
  const { method, path, summary, params, query, body, role } = row
  const parameters = [...parametersIn('path', params), ...parametersIn('query', query)]
  const isOpen = role === null
  const words = isOpen ? ' Anybody may ask.' : role === undefined ? '' : ` Takes the role ${role}, or one above it.`
  return {
    operationId: operationId(row),
    tags: [tagOfPath(path)],
    summary,
    description: `${summary}.${words}`,
    ...(role === undefined || isOpen ? {} : { 'x-role': role }),
    security: isOpen ? [] : [{ operator: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, ...content(inlineSchema(body, 'input')) } } : {}),
    responses: {
      ...answered(answers[`${method} ${path}`]),
      ...(parameters.length > 0 || body ? { 400: problemResponse(components, 400, answers) } : {}),
      ...(isOpen ? {} : { 401: problemResponse(components, 401, answers) }),
      ...anyProblem(components),
    },
  }
}

/** The rows say in words what they answer; what a run of the sandbox was answered shows it. */
function answered(seen: Answers[string] = {}): JsonObject {
  const [[status, example] = ['2XX', undefined]] = Object.entries(seen)
  if (example === undefined) return { [status]: { description: 'Done', ...content({ type: 'object' }) } }
  const isText = typeof example === 'string'
  return {
    [status]: {
      description: 'Done',
      ...content({ type: isText ? 'string' : 'object' }, isText ? 'text/plain' : JSON_TYPE, { example }),
    },
  }
}

const COMMON_TAG = 'operations'

/** `/operator/orders/{id}` is about orders. */
function tagOfPath(path: string): string {
  return /^\/operator\/([a-z-]+)/.exec(path)?.[1] ?? COMMON_TAG
}

function tagsUsed(rows: readonly OperatorRowTold[]): JsonObject {
  const names = [...new Set(rows.map(({ path }) => tagOfPath(path)))]
  return Object.fromEntries(
    names.map((name) => [name, name === COMMON_TAG ? 'Events, figures and this contract' : `All about ${name}`]),
  )
}

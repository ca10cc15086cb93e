import { type Check, type Diagnosis, FoundTrouble, look } from './finding.ts'
import { DECLINED, readabilityOf } from './readability.ts'
import type { Visit } from './visit.ts'

// Marks as graders give them, without their programs: a shop has none of those.

const FIX = 'Something between here and the shop changes what it answers; let documents pass as they are.'

export function checkGrades(visit: Visit): Promise<readonly Diagnosis[]> {
  const grade = (what: string, judge: (visit: Visit) => Promise<string>) => {
    const check: Check = { area: 'grades', what, fix: FIX }
    return look(check, () => judge(visit))
  }
  return Promise.all([
    grade('readability', readability),
    grade('contracts', contracts),
    grade('payment terms', paymentTerms),
    grade('MCP tools', tools),
    grade('MCP registry', registry),
  ])
}

const READABILITY_MIN = 95

async function readability(visit: Visit): Promise<string> {
  const { score, missed } = await readabilityOf(visit.ask)
  const open = missed.filter((name) => name !== DECLINED)
  if (score < READABILITY_MIN) throw new FoundTrouble('warn', `${score} of 100; missing: ${open.join(', ')}.`, FIX)
  return `${score} of 100; a page that is not there stays a 404`
}

type Operation = {
  readonly operationId?: string
  readonly 'x-payment-info'?: Readonly<Record<string, unknown>>
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { example?: unknown }>> }>>
}
type Contract = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

const operationsIn = ({ paths }: Contract) => Object.values(paths).flatMap((methods) => Object.values(methods))

async function contracts({ json }: Visit): Promise<string> {
  const files = ['/openapi.json', '/openapi.full.json', '/openapi.events.json']
  const all = await Promise.all(files.map((file) => json<Contract>(file)))
  for (const [index, contract] of all.entries()) {
    const lost = referencesIn(contract).find((reference) => !isThere(contract, reference))
    if (lost) throw new FoundTrouble('warn', `${files[index]} refers to ${lost}, which it does not have.`, FIX)
    const ids = operationsIn(contract).map(({ operationId }) => operationId)
    if (new Set(ids).size < ids.length)
      throw new FoundTrouble('warn', `${files[index]} names two operations alike.`, FIX)
  }
  const operations = all.flatMap(operationsIn)
  const shown = operations.filter(hasAnswer).length
  if (shown < operations.length) throw new FoundTrouble('warn', `${operations.length - shown} show no answer.`, FIX)
  return `${operations.length} operations, each with an answer of a run`
}

function hasAnswer({ responses }: Operation): boolean {
  return Object.values(responses['200']?.content ?? {}).some(({ example }) => example !== undefined)
}

function referencesIn(contract: object): readonly string[] {
  return [...JSON.stringify(contract).matchAll(/"\$ref":"(#[^"]+)"/g)].map(([, reference]) => reference!)
}

function isThere(contract: object, reference: string): boolean {
  let at: unknown = contract
  for (const name of reference.slice(2).split('/')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false
    at = (at as Record<string, unknown>)[name]
  }
  return true
}

const TERMS = ['protocol', 'network', 'asset', 'payTo', 'price', 'protocols']

/** What scanners of paid APIs read of an operation. */
async function paymentTerms({ json }: Visit): Promise<string> {
  const infos = operationsIn(await json<Contract>('/openapi.json')).map((operation) => operation['x-payment-info'])
  const missing = infos.flatMap((info) => TERMS.filter((term) => info?.[term] === undefined))
  if (missing.length > 0) throw new FoundTrouble('warn', `x-payment-info lacks ${missing[0]}.`, FIX)
  return `${infos.length} of ${infos.length} tell price, protocol, network and recipient`
}

type Tool = { readonly name: string; readonly description?: string; readonly outputSchema?: object }

async function tools({ ask }: Visit): Promise<string> {
  const response = await ask('/mcp', {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
  const { result } = (await response.json()) as { result: { tools: readonly Tool[] } }
  const bare = result.tools.find(({ description, outputSchema }) => !description || !outputSchema)
  if (bare) throw new FoundTrouble('warn', `${bare.name} does not say what it answers.`, FIX)
  return `${result.tools.length} tools, each with a schema of its answer`
}

type Entry = Readonly<Record<'name' | 'description' | 'version', string>> & {
  readonly remotes: readonly { readonly url: string }[]
}

async function registry({ json }: Visit): Promise<string> {
  const { name, description, version, remotes } = await json<Entry>('/.well-known/mcp/server.json')
  const faults = [
    ...(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(name) ? [] : ['its name']),
    ...(description.length <= 100 ? [] : ['a description of more than 100 letters']),
    ...(/^\d+\.\d+\.\d+/.test(version) ? [] : ['its version']),
    ...(remotes.every(({ url }) => URL.canParse(url)) ? [] : ['its address']),
  ]
  if (faults.length > 0) throw new FoundTrouble('warn', `The registry would refuse ${faults.join(', ')}.`, FIX)
  return `${name} ${version} may be published`
}

import { systemClock } from '../../base/clock.ts'
import { ADDRESS_OPTIONS } from '../../config/load.ts'
import { clients } from '../../rails/clients.ts'
import { surfaces } from '../../service/surfaces.ts'
import { compareClocks } from './configuration-checks.ts'
import { type Check, type Diagnosis, FoundTrouble, look } from './finding.ts'
import type { Visit } from './visit.ts'

// The running shop as a scanner or a stranger sees it: nothing is asked that costs anything, and nothing is paid.

type Contract = {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
type Operation = {
  readonly 'x-payment-info'?: object
  readonly servers?: readonly { readonly url: string }[]
  readonly responses: Readonly<Record<string, unknown>>
}

export async function checkFront(visit: Visit): Promise<readonly Diagnosis[]> {
  const documents = { area: 'documents', fix: 'Is an older Sutler, or something else, running there?' } as const
  let contract: Contract | null = null
  const findings = [
    await look({ area: 'shop', what: 'health', fix: 'Look at /health/ready and at the log.' }, () => health(visit)),
    await look({ area: 'clock', what: 'shop', fix: 'Set the clock of this machine.' }, () => clock(visit)),
    await look({ ...documents, what: '/openapi.json' }, async () => {
      contract = await visit.json<Contract>('/openapi.json')
      return judgeContract(contract)
    }),
    ...(await Promise.all(
      ['/openapi.full.json', '/openapi.events.json'].map((path) =>
        look({ ...documents, what: path }, async () => `OpenAPI ${(await visit.json<Contract>(path)).openapi}`),
      ),
    )),
    await look({ ...documents, what: '/catalog' }, () => catalog(visit)),
    await look({ area: 'shop', what: 'shelves', fix: SHELVE }, () => shelves(visit)),
    await look({ ...documents, what: 'CORS' }, () => preflight(visit)),
    await look({ ...documents, what: 'errors' }, () => errors(visit)),
    await look({ ...documents, what: 'MCP' }, () => initialize(visit)),
  ]
  const paid = contract ? paidOperations(contract).map(({ path }) => path) : []
  const spoken = clients.filter(({ name }) => paid.some((path) => path.includes(`/${name}/`)))
  const paths = [...texts, ...spoken.flatMap(({ documents }) => documents)]
  const read = paths.map((path) => look({ ...documents, what: path }, () => document(visit, path)))
  const challenges = contract ? checkChallenges(visit, contract) : []
  return [...findings, ...(await Promise.all(read)), ...(await challenges)]
}

/** What discovery asks for by name, whichever protocols are on. The contract and the catalog are looked at more closely. */
const texts = [
  '/llms.txt',
  '/llms-full.txt',
  '/skill.md',
  '/robots.txt',
  '/sitemap.xml',
  '/sitemap.md',
  '/signing.md',
  '/.well-known/api-catalog',
  '/.well-known/agent-skills/index.json',
  '/.well-known/ai-catalog.json',
  '/.well-known/mcp/server-card.json',
  '/.well-known/jwks.json',
  '/errors',
]

type Readiness = {
  readonly status: string
  readonly checks: readonly { name: string; status: string; detail: string }[]
}

const UNREADY = 'Mend what /health/ready names; docs/operating.md tells how.'

async function health({ ask }: Visit): Promise<string> {
  const response = await ask('/health/ready')
  const { status, checks } = (await response.json()) as Readiness
  const bad = checks.filter((check) => check.status !== 'ok').map(({ name, detail }) => `${name}: ${detail}`)
  if (response.status !== 200) throw new FoundTrouble('fail', `It cannot sell. ${bad.join(' ')}`, UNREADY)
  if (bad.length > 0) throw new FoundTrouble('warn', bad.join(' '), UNREADY)
  return status
}

async function clock({ ask }: Visit): Promise<string> {
  const { headers } = await ask('/health/live')
  const date = Date.parse(headers.get('date') ?? '')
  // The header has whole seconds.
  return compareClocks('the shop', date + 500 - systemClock.now())
}

async function judgeContract(contract: Contract): Promise<string> {
  const fix = 'Report it: the contract is printed from the route table.'
  const errors = (await Promise.all(clients.map((client) => client.contractErrors?.(contract) ?? []))).flat()
  if (errors.length > 0) throw new FoundTrouble('fail', errors.join(' '), fix)
  const paid = paidOperations(contract)
  const silent = paid.filter(({ operation }) => operation.responses['402'] === undefined)
  if (paid.length === 0) throw new FoundTrouble('fail', 'It offers nothing for money.', 'Switch a protocol on.')
  if (silent.length > 0) throw new FoundTrouble('fail', `${silent[0]!.path} does not announce its 402.`, fix)
  return `OpenAPI ${contract.openapi}, ${paid.length} paid operations`
}

function paidOperations({ paths, servers }: Contract) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation['x-payment-info'] !== undefined)
      .map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        server: (operation.servers ?? servers)[0]?.url ?? '',
        operation,
      })),
  )
}

/** Every paid route is asked without money. What comes back must be payable by the stock clients. */
async function checkChallenges({ ask }: Visit, contract: Contract): Promise<readonly Diagnosis[]> {
  const fix = `Compare ${ADDRESS_OPTIONS} with the address that agents use.`
  return Promise.all(
    paidOperations(contract).map(({ path, method, server }) => {
      const check: Check = { area: 'documents', what: `402 of ${path}`, fix }
      return look(check, async () => {
        const init = method === 'GET' ? {} : { method, body: '{}', headers: { 'content-type': 'application/json' } }
        const response = await ask(path, init)
        if (response.status === 409) throw new FoundTrouble('warn', await detailOf(response), SHELVE)
        if (response.status === 503) throw new FoundTrouble('warn', await detailOf(response), UNREADY)
        if (response.status !== 402)
          throw new FoundTrouble('fail', `It answers ${response.status} to an unpaid call.`, fix)
        judgeHeaders(response)
        return judgeChallenge(response, server + path, fix)
      })
    }),
  )
}

/** A route that has nothing to sell asks for no money. */
async function detailOf(response: Response): Promise<string> {
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
  return detail ?? `It answers ${response.status} to an unpaid call.`
}

function judgeHeaders({ headers }: Response): void {
  const fix = 'Something between here and the shop changes headers; let them pass.'
  if (!/no-store/.test(headers.get('cache-control') ?? ''))
    throw new FoundTrouble('fail', 'A cache may keep the 402 and show it to somebody who has paid.', fix)
  const exposed = headers.get('access-control-expose-headers') ?? ''
  if (headers.get('access-control-allow-origin') !== '*' || !/payment-required/i.test(exposed))
    throw new FoundTrouble('fail', 'Agents in browsers cannot read it.', fix)
}

async function judgeChallenge(response: Response, url: string, fix: string): Promise<string> {
  const client = clients.find(({ priceIn }) => priceIn(response) !== null)
  if (!client) throw new FoundTrouble('fail', 'No client knows how to pay it.', fix)
  const { words, url: named } = await client.judge(response)
  if (named !== null && named !== url)
    throw new FoundTrouble('warn', `It names ${named}, and the contract says ${url}.`, fix)
  return words
}

async function catalog({ ask }: Visit): Promise<string> {
  const response = await ask('/catalog')
  const { version, items } = (await response.json()) as { version: number; items: readonly unknown[] }
  const fix = 'Something between here and the shop changes headers; let them pass.'
  if (version !== 1) throw new Error(`Its version is ${version}, not 1.`)
  if (!response.headers.has('etag') || !/max-age=\d+/.test(response.headers.get('cache-control') ?? ''))
    throw new FoundTrouble('warn', 'It cannot be cached: ETag or max-age is missing.', fix)
  return `version ${version}, ${items.length} items`
}

const SHELVE = 'Put something on the shelf: `sutler items add --help`, `sutler lots add --help`.'

type Entry = { readonly surface: string; readonly items: readonly { readonly available: boolean }[] }

/** What is sold one by one must be there; probes and craft actions need no shelf. */
async function shelves({ json }: Visit): Promise<string> {
  const { entries } = await json<{ entries: readonly Entry[] }>('/catalog')
  const shelved = [...new Set(entries.map(({ surface }) => surface))].filter((name) => SHELVED.includes(name))
  const countOf = (name: string) =>
    Math.max(...entries.filter(({ surface }) => surface === name).map((one) => one.items.filter(isAvailable).length))
  const empty = shelved.filter((name) => countOf(name) === 0)
  if (empty.length === 0) return shelved.map((name) => `${countOf(name)} in ${name}`).join(', ') || 'none are needed'
  const severity = empty.length === shelved.length ? 'fail' : 'warn'
  throw new FoundTrouble(severity, `Nothing is on sale in ${empty.join(' and ')}.`, SHELVE)
}

const SHELVED: readonly string[] = surfaces.filter(({ hasShelf }) => hasShelf).map(({ name }) => name)
const isAvailable = ({ available }: { readonly available: boolean }) => available

async function preflight({ ask }: Visit): Promise<string> {
  const { status, headers } = await ask('/catalog', {
    method: 'OPTIONS',
    headers: { origin: 'https://agent.example', 'access-control-request-method': 'GET' },
  })
  const allowed = headers.get('access-control-allow-headers') ?? ''
  const missing = ['payment-signature', 'authorization', 'content-type'].filter((name) => !allowed.includes(name))
  const fix = 'Let OPTIONS requests reach the shop; it answers them itself.'
  if (status !== 204 || missing.length > 0)
    throw new FoundTrouble('fail', `A preflight answers ${status} and lacks ${missing.join(', ') || 'nothing'}.`, fix)
  return 'agents in browsers may pay'
}

async function errors({ ask }: Visit): Promise<string> {
  const response = await ask('/no-such-route')
  const { code, status } = (await response.json().catch(() => ({}))) as { code?: string; status?: number }
  if (response.status === 404 && code === 'route_not_found' && status === 404) return 'are told as JSON, with a code'
  const fix = 'Something between here and the shop answers for it; let everything pass.'
  throw new FoundTrouble('fail', `An unknown route answers ${response.status} and ${code ?? 'no code'}.`, fix)
}

async function initialize({ ask }: Visit): Promise<string> {
  const response = await ask('/mcp', {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sutler doctor', version: '1' } },
    }),
  })
  const { result } = (await response.json()) as { result?: { protocolVersion: string } }
  if (!result) throw new Error(`initialize answers ${response.status}.`)
  return `protocol ${result.protocolVersion}`
}

async function document({ ask }: Visit, path: string): Promise<string> {
  const response = await ask(path)
  const { length } = await response.text()
  if (!response.ok) throw new Error(`It answers ${response.status}.`)
  return `${length} characters`
}

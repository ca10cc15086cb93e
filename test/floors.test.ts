import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

/** A room may import the rooms listed beside it and itself. Neighbours on one floor never import each other. */
const below: Record<string, readonly string[]> = (() => {
  const ground = ['base', 'artifacts']
  const first = [...ground, 'config', 'domain']
  const second = [...first, 'store', 'chain']
  const sending = [...second, 'outbox']
  const third = [...sending, 'ledger', 'rails', 'surfaces', 'checkout', 'webhooks']
  const fourth = [...third, 'api', 'sandbox', 'devchain']
  return {
    artifacts: [],
    base: [],
    devchain: ground,
    config: ['base'],
    domain: ['base'],
    store: first,
    chain: first,
    outbox: second,
    rails: sending,
    surfaces: sending,
    ledger: second,
    checkout: [...second, 'ledger'],
    webhooks: second,
    setup: sending,
    api: third,
    sandbox: [...third, 'api', 'devchain'],
    service: fourth,
    cli: [...fourth, 'service', 'setup'],
  }
})()

/** Third-party packages and built-ins with a door: only these rooms may import them. `zod` may be used anywhere. */
const doors: readonly { readonly door: RegExp; readonly rooms: readonly string[] }[] = [
  // The stock servers that we are measured against run on it; the service does not.
  { door: /^hono(\/|$)|^@hono\//, rooms: [] },
  { door: /^viem(\/|$)/, rooms: ['chain', 'outbox', 'rails', 'devchain', 'sandbox', 'cli'] },
  { door: /^ox(\/|$)/, rooms: ['devchain', 'outbox', 'rails'] },
  { door: /^mppx(\/|$)|^@x402\//, rooms: ['rails'] },
  { door: /^pg$|^@electric-sql\//, rooms: ['store'] },
  { door: /^@ethereumjs\//, rooms: ['devchain'] },
  { door: /^tiny-secp256k1$/, rooms: ['chain', 'devchain', 'rails'] },
  { door: /^@noble\//, rooms: ['base'] },
  { door: /^node:sqlite$/, rooms: ['base'] },
  // The SDKs judge us in tests; the service speaks MCP by itself.
  { door: /^@modelcontextprotocol\//, rooms: [] },
]

const LINES_MAX = 400

/** These files print code for their readers to copy. What stands between the quotes is theirs to import, not ours. */
const RECIPES = /^src\/rails\/\w+\/documents\.ts$/

type Source = {
  readonly file: string
  readonly room: string
  readonly text: string
  readonly imports: readonly string[]
}

const sources: Source[] = globSync('src/**/*.ts')
  .sort()
  .map((file) => {
    const text = readFileSync(file, 'utf8')
    const code = RECIPES.test(file) ? text.replaceAll(/`[^`]*`/g, '') : text
    const imports = [...code.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, target]) => target!)
    return { file, room: roomOf(file), text: code, imports }
  })
const production = sources.filter(({ file }) => !/\.(test|cases|bench)\.ts$/.test(file))

function roomOf(file: string): string {
  return relative('src', file).split('/')[0]!
}

test('imports only go down', () => {
  const climbs: string[] = []
  for (const { file, room, imports } of production) {
    const allowed = [room, ...(below[room] ?? assert.fail(`no floor is declared for ${file}`))]
    for (const target of imports.filter((target) => target.startsWith('.'))) {
      const other = roomOf(join(dirname(file), target))
      if (!allowed.includes(other)) climbs.push(`${file} imports ${other}`)
    }
  }
  assert.deepEqual(climbs, [])
})

test('no file imports itself by way of others, types included', () => {
  const targets = new Map(
    production.map(({ file, imports }) => [
      file,
      imports.filter((target) => target.startsWith('.')).map((target) => join(dirname(file), target)),
    ]),
  )
  /** Files whose imports were followed to their end, and the way to the one that is being followed. */
  const done = new Set<string>()
  const circles: string[] = []
  const follow = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' > '))
    if (way.includes(file) || done.has(file)) return
    for (const target of targets.get(file) ?? []) follow(target, [...way, file])
    done.add(file)
  }
  for (const file of targets.keys()) follow(file, [])
  assert.deepEqual(circles, [])
})

test('two folders of one room never import each other, types included', () => {
  const folderOf = (file: string) => dirname(relative('src', file))
  const ways = new Map<string, string>()
  for (const { file, room, imports } of production) {
    for (const target of imports.filter((target) => target.startsWith('.'))) {
      const [from, to] = [folderOf(file), folderOf(join(dirname(file), target))]
      // What lies in the room itself is for all of its folders, and puts them together.
      if (from !== to && from !== room && to !== room && to.startsWith(`${room}/`)) ways.set(`${from} ${to}`, file)
    }
  }
  const mutual = [...ways].filter(([way]) => ways.has(way.split(' ').toReversed().join(' ')))
  assert.deepEqual(mutual, [])
})

test('each third-party package comes in by its own door', () => {
  const trespasses: string[] = []
  for (const { file, room, imports } of production) {
    for (const target of imports) {
      for (const { door, rooms } of doors)
        if (door.test(target) && !rooms.includes(room)) trespasses.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(trespasses, [])
})

test('relative imports name their file, and nothing is a barrel', () => {
  const bad = sources.flatMap(({ file, imports }) =>
    imports
      .filter((target) => target.startsWith('.') && !/\.(ts|json)$/.test(target))
      .map((target) => `${file}: ${target}`),
  )
  assert.deepEqual(bad, [])
  assert.deepEqual(
    sources.filter(({ file }) => /\/(index|utils|helpers|types)\.ts$/.test(file)).map(({ file }) => file),
    [],
  )
})

test(`no file is longer than ${LINES_MAX} lines`, () => {
  const long = sources
    .filter(({ file, text }) => !file.startsWith('src/artifacts/') && text.split('\n').length > LINES_MAX + 1)
    .map(({ file }) => file)
  assert.deepEqual(long, [])
})

test('only rails/ and config/ name a payment protocol', () => {
  // Whatever differs between them is a member of `Rail`. Comments count: what has to be explained by a name is still about that name.
  const names = production
    .filter(({ room }) => room !== 'rails' && room !== 'config')
    .flatMap(({ file, text }) =>
      [...text.matchAll(/(?<!0)x402|mpp/gi)].map(({ index }) => `${file}: ${text.slice(index - 20, index + 20)}`),
    )
  assert.deepEqual(names, [])
})

test('only surfaces/, config/, setup/ and their list name a family of goods', () => {
  // Whatever differs between them is a member of `Surface`. Beside the rooms of their options and contracts, these may name them:
  const exceptions = [
    /^src\/service\/surfaces\.ts$/,
    // Their contracts and keys, on the command line.
    /^src\/cli\/(init|(contracts|keys)\/\w+|doctor\/(chains|configuration-checks))\.ts$/,
    // It buys one of each, and has to know what goes into the basket.
    /^src\/cli\/demo\.ts$/,
  ]
  /** Here `shop` is the whole shop, beside the things that a finding, a deed or an export may be about. */
  const wholeShop = /^src\/(cli\/(export|doctor|doctor\/(finding|live-checks|proxy))|service\/system-desk)\.ts$/
  const isTheirs = ({ file, room }: Source) =>
    ['surfaces', 'config', 'setup'].includes(room) || exceptions.some((exception) => exception.test(file))
  const names = production
    .filter((source) => !isTheirs(source))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/(['"`])(sale|shop|gateway|craft)\1/g)]
        .filter(([, , name]) => name !== 'shop' || !wholeShop.test(file))
        .map(([literal]) => `${file}: ${literal}`),
    )
  assert.deepEqual(names, [])
})

test('the environment is read in config/ and nowhere else', () => {
  const readers = production
    .filter(({ room, text }) => room !== 'config' && /process\.env\b/.test(text))
    .map(({ file }) => file)
  assert.deepEqual(readers, [])
})

test('time and randomness come from base/', () => {
  const pattern = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandomBytes\(|\brandomUUID\(/
  const offenders = production
    .filter(({ file, text }) => !['src/base/clock.ts', 'src/base/id.ts'].includes(file) && pattern.test(text))
    .map(({ file }) => file)
  assert.deepEqual(offenders, [])
})

test('what leaves the house goes through a door with a budget', () => {
  // Time, size, no redirects: each of these holds all three. `fetch` holds none.
  const doors = ['src/base/outgoing.ts', 'src/chain/transport.ts', 'src/webhooks/post.ts']
  const leaks = production
    .filter(({ file, imports, text }) => {
      const isDoor = doors.includes(file)
      return (imports.includes('node:https') && !isDoor) || /(?<![\w.`])fetch\(/.test(text)
    })
    .map(({ file }) => file)
  assert.deepEqual(leaks, [])
})

test('no field that Node does not document is read or written', () => {
  /** Names with an underscore that are not of Node's inside. */
  const others = ['_meta', '_zod', '_PostgresMainLoopOnce']
  const found = production.flatMap(({ file, text }) =>
    [...text.matchAll(/(?:\.|\[')(_[a-zA-Z]\w*)/g)]
      .filter(([, name]) => !others.includes(name!))
      .map(([, name]) => `${file}: ${name}`),
  )
  assert.deepEqual(found, [])
  const bySymbol = production.filter(({ text }) => text.includes('getOwnPropertySymbols')).map(({ file }) => file)
  assert.deepEqual(bySymbol, [])
})

test('nothing is kept by the identity of an object', () => {
  // What is made once belongs into what is made once: a compiled route, a prepared document.
  const keepers = production.filter(({ text }) => /new Weak(?:Map|Set|Ref)\b/.test(text)).map(({ file }) => file)
  assert.deepEqual(keepers, [])
})

test('nothing is left half done', () => {
  const marker = new RegExp(`\\b(${['TODO', 'FIXME', 'XXX', 'HACK'].join('|')})\\b`)
  assert.deepEqual(
    sources.filter(({ text }) => marker.test(text)).map(({ file }) => file),
    [],
  )
})

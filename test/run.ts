import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { embeddedTemplate } from './support/embedded.ts'
import { startPostgres } from './support/postgres.ts'

// `npm test`: types, lint, then every test. One PostgreSQL serves all test files.
//
//   npm test -- --only=store,rails       only files with one of these words in their path
//   npm test -- test/store/copy.test.ts  only these files
//   npm test -- --kills=1000             any other option reaches the tests by its name: TEST_KILLS=1000

type Plan = {
  readonly together: readonly string[]
  readonly alone: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

type Step = { readonly name: string; readonly isGood: boolean; readonly seconds: number }

const root = join(import.meta.dirname, '..')
/** A test that hangs fails. Files that run alone may take as long as they are asked to. */
const TEST_MS_MAX = 300_000

async function main(args: readonly string[]): Promise<void> {
  process.chdir(root)
  const { together, alone, env } = plan(args)
  if (together.length + alone.length === 0) throw new Error('no test file has such a name')
  Object.assign(process.env, env)
  // Each file is a process that imports the whole shop: compiled once is enough.
  process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'sutler-test-compile-cache')
  const template = embeddedTemplate()
  const server = process.env['TEST_DATABASE_URL'] ? null : await startPostgres()
  if (server) process.env['TEST_DATABASE_URL'] = server.url
  const steps: Step[] = []
  try {
    steps.push(await run('types', join(root, 'node_modules/.bin/tsc'), []))
    steps.push(await run('lint', join(root, 'node_modules/.bin/biome'), ['check', '--error-on-warnings']))
    await template
    const limit = `--test-timeout=${TEST_MS_MAX}`
    if (together.length > 0)
      steps.push(await test('tests', together, [`--test-concurrency=${availableParallelism() + 1}`, limit]))
    for (const file of alone) steps.push(await test(file, [file], []))
  } finally {
    await server?.stop()
  }
  for (const { name, isGood, seconds } of steps) {
    console.log(`${isGood ? 'passed' : 'FAILED'}  ${name}  ${seconds.toFixed(1)} s`)
  }
  process.exitCode = steps.every(({ isGood }) => isGood) ? 0 : 1
}

function plan(args: readonly string[]): Plan {
  const options = args.filter((arg) => arg.startsWith('--')).map((arg) => arg.slice(2).split('='))
  const patterns = args.filter((arg) => !arg.startsWith('--'))
  const words = options.find(([name]) => name === 'only')?.[1]?.split(',')
  const files = globSync(patterns.length > 0 ? patterns : ['{src,test}/**/*.test.ts'])
    .filter((file) => !words || words.some((word) => file.includes(word)))
    .sort()
  return {
    together: files.filter((file) => !isAlone(file)),
    alone: files.filter(isAlone),
    env: Object.fromEntries(options.map(([name, value = '1']) => [variableOf(name!), value])),
  }
}

/** Long runs that kill or measure need the machine for themselves. */
function isAlone(file: string): boolean {
  return file.startsWith('test/crash/')
}

function variableOf(option: string): string {
  return `TEST_${option.replaceAll('-', '_').toUpperCase()}`
}

function test(name: string, files: readonly string[], flags: readonly string[]): Promise<Step> {
  return run(name, process.execPath, ['--test', ...flags, ...files])
}

async function run(name: string, command: string, args: readonly string[]): Promise<Step> {
  const started = performance.now()
  const child = spawn(command, args, { stdio: 'inherit' })
  const code = await new Promise((done, fail) => child.once('exit', done).once('error', fail))
  return { name, isGood: code === 0, seconds: (performance.now() - started) / 1000 }
}

await main(process.argv.slice(2))

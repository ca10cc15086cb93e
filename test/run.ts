import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeGroups } from './groups.ts'
import { embeddedTemplate } from './support/embedded.ts'
import { startPostgres } from './support/postgres.ts'

// `npm test`: types, lint, then every test. One PostgreSQL serves all test files.
//
//   npm test -- --only=store,rails       only files with one of these words in their path
//   npm test -- test/store/postgres.test.ts only these files
//   npm test -- --seconds                how long each file takes is written down, by which they are dealt out next time
//   npm test -- --kills=1000             any other option reaches the tests by its name: TEST_KILLS=1000

type Plan = { readonly files: readonly string[]; readonly env: Readonly<Record<string, string>> }

type Step = { readonly name: string; readonly isGood: boolean; readonly seconds: number }

const root = join(import.meta.dirname, '..')
const LIGHT_HOOKS = join(import.meta.dirname, 'support/light-hooks.ts')
/** The usual report, and a silent one that writes down how long each file took. */
const NOTED = ['spec', join(import.meta.dirname, 'support/seconds.ts')].flatMap((reporter) => [
  `--test-reporter=${reporter}`,
  '--test-reporter-destination=stdout',
])
/** A test that hangs fails. One that is asked for more says itself how long that may take. */
const TEST_MS_MAX = 600_000
/** A file whose process hangs after its tests is named when this is over, and the run has failed. What is asked for by options may take longer. */
const RUN_MS_MAX = 3_600_000

/** The compiler needs less than this, and collects no garbage before: that was a quarter of its work. */
const COMPILER_MEMORY = { GOGC: 'off', GOMEMLIMIT: '2GiB' }

async function main(args: readonly string[]): Promise<void> {
  process.chdir(root)
  if (args.includes('--help')) return console.log(help())
  const { files, env } = plan(args)
  if (files.length === 0) throw new Error('no test file has such a name')
  Object.assign(process.env, env)
  // Each file is a process that imports the whole shop: compiled once is enough.
  process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'sutler-test-compile-cache')
  const template = embeddedTemplate()
  const server = process.env['TEST_DATABASE_URL'] ? null : await startPostgres()
  if (server) process.env['TEST_DATABASE_URL'] = server.url
  const steps: Step[] = []
  const folder = mkdtempSync(join(tmpdir(), 'sutler-test-'))
  try {
    await template
    const flags = [
      // More than there are cores: some mostly wait. The largest groups run from the first moment on.
      `--test-concurrency=${availableParallelism() + 7}`,
      `--test-timeout=${TEST_MS_MAX}`,
      `--import=${LIGHT_HOOKS}`,
      ...(process.env['TEST_SECONDS'] ? NOTED : []),
    ]
    // The compilers need both cores only for a part of their time, and tests wait now and then.
    steps.push(
      ...(await Promise.all([
        // With one checker they take half the CPU: several work out the same types.
        run('types', bin('tsc'), ['--checkers', '1'], { env: COMPILER_MEMORY }),
        run('types of the console', bin('tsc'), ['-p', 'web/console']),
        run('lint', bin('biome'), ['check', '--error-on-warnings']),
        run('tests', process.execPath, ['--test', ...flags, ...writeGroups(files, folder)], {
          timeout: args.length > 0 ? 0 : RUN_MS_MAX,
        }),
      ])),
    )
  } finally {
    await server?.stop()
    rmSync(folder, { recursive: true })
  }
  for (const { name, isGood, seconds } of steps) {
    console.log(`${isGood ? 'passed' : 'FAILED'}  ${name}  ${seconds.toFixed(1)} s`)
  }
  process.exitCode = steps.every(({ isGood }) => isGood) ? 0 : 1
}

const bin = (name: string) => join(root, 'node_modules/.bin', name)

/** The comment at the top of this file. */
function help(): string {
  const comment = readFileSync(import.meta.filename, 'utf8').match(/^\/\/.*$/gm)!
  return comment.map((line) => line.slice(3)).join('\n')
}

function plan(args: readonly string[]): Plan {
  const options = args.filter((arg) => arg.startsWith('--')).map((arg) => arg.slice(2).split('='))
  const patterns = args.filter((arg) => !arg.startsWith('--'))
  const words = options.find(([name]) => name === 'only')?.[1]?.split(',')
  const files = globSync(patterns.length > 0 ? patterns : ['{src,test}/**/*.test.ts'])
    .filter((file) => !words || words.some((word) => file.includes(word)))
    .sort()
  return { files, env: Object.fromEntries(options.map(([name, value = '1']) => [variableOf(name!), value])) }
}

function variableOf(option: string): string {
  return `TEST_${option.replaceAll('-', '_').toUpperCase()}`
}

type RunOptions = { readonly timeout?: number; readonly env?: Readonly<Record<string, string>> }

async function run(
  name: string,
  command: string,
  args: readonly string[],
  { timeout = 0, env }: RunOptions = {},
): Promise<Step> {
  const started = performance.now()
  const child = spawn(command, args, { stdio: 'inherit', timeout, env: { ...process.env, ...env } })
  const code = await new Promise((done, fail) => child.once('exit', done).once('error', fail))
  return { name, isGood: code === 0, seconds: (performance.now() - started) / 1000 }
}

await main(process.argv.slice(2))

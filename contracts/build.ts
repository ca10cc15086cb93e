// Compiles the contracts and writes their ABIs and bytecode as TypeScript, so that running the service needs no compiler.
//   npm run contracts               write
//   npm run contracts -- --check    fail if the committed artifacts are not what the sources give
// Compiling takes most of a minute. What it was done from, and what it gave, is noted beside the sources, so that a look is enough to see
// that nothing of either has changed since.
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

/** Where the artifacts of a source folder go. Contracts that only tests need stay out of `src/`. */
const targets: readonly { readonly sources: string; readonly artifacts: string }[] = [
  { sources: 'contracts/src', artifacts: 'src/artifacts' },
  { sources: 'contracts/test', artifacts: 'test/artifacts' },
]

// Without the metadata the bytecode depends on nothing but the code. The IR pipeline would take several times as long for
// contracts that do not need it.
const settings = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  viaIR: false,
  metadata: { bytecodeHash: 'none', appendCBOR: false },
}
const outputs = [
  'abi',
  'evm.bytecode.object',
  'evm.deployedBytecode.object',
  'evm.deployedBytecode.immutableReferences',
]

const NOTE = 'contracts/compiled.json'

type Note = { readonly from: string; readonly gave: string }

/** Were the committed artifacts made from the sources as they are, and are they what was made? */
export function isAsNoted(): boolean {
  const { from, gave } = JSON.parse(read(NOTE)) as Note
  const now = noteOf(committedArtifacts())
  return from === now.from && gave === now.gave
}

/** Our sources, the packages that they are compiled with and from, and how. */
function noteOf(artifacts: ReadonlyMap<string, string>): Note {
  const versions = ['solc', '@openzeppelin/contracts'].map(
    (name) => (JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string }).version,
  )
  const from = [
    JSON.stringify({ settings, outputs }),
    ...versions,
    ...sourceFiles().flatMap((file) => [file, read(file)]),
  ]
  return { from: digest(from), gave: digest([...artifacts].sort(([a], [b]) => (a < b ? -1 : 1)).flat()) }
}

function digest(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex')
}

function sourceFiles(): readonly string[] {
  return targets.flatMap(({ sources }) => globSync(`${sources}/*.sol`, { cwd: root })).sort()
}

function committedArtifacts(): ReadonlyMap<string, string> {
  const paths = targets.flatMap(({ artifacts }) => globSync(`${artifacts}/*.ts`, { cwd: root }))
  return new Map(paths.map((path) => [path, read(path)]))
}

/** Path of each artifact, relative to the repository, and the text it should have. */
export function buildArtifacts(): ReadonlyMap<string, string> {
  const files = sourceFiles()
  const contracts = compile(files)
  const artifacts = new Map<string, string>()
  for (const { sources, artifacts: folder } of targets) {
    for (const file of files.filter((file) => dirname(file) === sources)) {
      for (const [name, output] of Object.entries(contracts[file]!)) {
        // An abstract contract has nothing to deploy.
        if (output.evm.bytecode.object === '') continue
        artifacts.set(join(folder, `${name}.ts`), artifactText(name, output))
      }
    }
  }
  return artifacts
}

/** The artifacts whose committed text differs from what the sources give, and those nothing gives any more. */
export function staleArtifacts(artifacts: ReadonlyMap<string, string>): readonly string[] {
  const committed = committedArtifacts()
  const paths = new Set([...committed.keys(), ...artifacts.keys()])
  return [...paths].filter((path) => committed.get(path) !== artifacts.get(path)).sort()
}

type ContractOutput = {
  readonly abi: readonly unknown[]
  readonly evm: {
    readonly bytecode: { readonly object: string }
    readonly deployedBytecode: {
      readonly object: string
      readonly immutableReferences?: Readonly<Record<string, readonly { readonly start: number }[]>>
    }
  }
}
type CompilerOutput = {
  readonly errors?: readonly {
    readonly formattedMessage: string
    readonly sourceLocation?: { readonly file: string }
  }[]
  readonly contracts: Readonly<Record<string, Readonly<Record<string, ContractOutput>>>>
}
type Compiler = {
  compile(input: string, callbacks: { import(path: string): { contents: string } | { error: string } }): string
}

function compile(files: readonly string[]): CompilerOutput['contracts'] {
  const solc: Compiler = require('solc')
  const sources = Object.fromEntries(files.map((file) => [file, { content: read(file) }]))
  // Naming the files keeps the compiler from generating code for the whole of OpenZeppelin.
  const outputSelection = Object.fromEntries(files.map((file) => [file, { '*': outputs }]))
  const input = JSON.stringify({ language: 'Solidity', sources, settings: { ...settings, outputSelection } })
  const output: CompilerOutput = JSON.parse(solc.compile(input, { import: resolveImport }))
  // A warning about our own sources is an error: nobody reads the output of a build that succeeds.
  const faults = (output.errors ?? []).filter(({ sourceLocation }) => !sourceLocation?.file.startsWith('@'))
  if (faults.length > 0) throw new Error(faults.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return output.contracts
}

function resolveImport(path: string): { contents: string } | { error: string } {
  try {
    return { contents: read(join('node_modules', path)) }
  } catch {
    return { error: `${path} is not in node_modules` }
  }
}

/** Where the constructor fills in words that the runtime code of the artifact has as zeroes; most contracts have none. */
function immutablesText({ deployedBytecode }: ContractOutput['evm']): string {
  const places = Object.values(deployedBytecode.immutableReferences ?? {}).map((uses) => uses.map(({ start }) => start))
  return places.length === 0 ? '' : `  immutables: ${JSON.stringify(places)},\n`
}

function artifactText(name: string, { abi, evm }: ContractOutput): string {
  const constant = name[0]!.toLowerCase() + name.slice(1)
  return `// Generated by \`npm run contracts\` from contracts/. Do not edit.
export const ${constant} = {
  abi: ${JSON.stringify(abi)},
  bytecode: '0x${evm.bytecode.object}',
  runtime: '0x${evm.deployedBytecode.object}',
${immutablesText(evm)}} as const
`
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function main(): void {
  const artifacts = buildArtifacts()
  if (process.argv.includes('--check')) {
    const stale = staleArtifacts(artifacts)
    if (stale.length > 0) {
      console.error(`Not what the sources give; run \`npm run contracts\`:\n${stale.join('\n')}`)
      process.exitCode = 1
    }
    return
  }
  for (const { artifacts: folder } of targets) mkdirSync(join(root, folder), { recursive: true })
  for (const [path, text] of artifacts) writeFileSync(join(root, path), text)
  writeFileSync(join(root, NOTE), `${JSON.stringify(noteOf(artifacts), null, 2)}\n`)
  console.log(
    `${artifacts.size} contracts written: ${[...artifacts.keys()].map((path) => basename(path, '.ts')).join(', ')}`,
  )
}

if (import.meta.main) main()

import { readFileSync, writeFileSync } from 'node:fs'

// `npm ci` refuses a lock file that lacks an optional package of another platform, and a registry that mirrors only some platforms
// leaves those out. This writes them in: the name and version that their parent asks for, and the platform that the name tells.
// Run by `npm run lock`, after any change of the dependencies.

type Locked = {
  version?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

const FILE = 'package-lock.json'
const lock = JSON.parse(readFileSync(FILE, 'utf8')) as { packages: Record<string, Locked> }
const { packages } = lock

/** A package is looked for in the folder of whoever asks, then in each folder above it. */
function isLocked(asker: string, name: string): boolean {
  for (let folder = asker; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]) return true
    if (folder === '') return false
  }
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32']
const PROCESSORS = ['arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

function platformOf(name: string): Pick<Locked, 'os' | 'cpu' | 'libc'> {
  const words = name.split('/').at(-1)!.split('-')
  const of = (known: readonly string[]) => known.filter((one) => words.includes(one)).slice(0, 1)
  const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : []
  return { cpu: of(PROCESSORS), ...(libc.length > 0 ? { libc } : {}), os: of(SYSTEMS) }
}

for (const [path, { optionalDependencies = {}, dev = false }] of Object.entries(packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (isLocked(path, name)) continue
    packages[`node_modules/${name}`] = { version, ...(dev ? { dev } : {}), optional: true, ...platformOf(name) }
  }
}

const sorted = Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(FILE, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)

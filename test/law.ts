import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// The law of the house stands in two documents, and only there: docs/contract.md is what is promised, docs/threats.md what can go wrong
// and what stands against it. Code and tests name their clauses by id.

/** A statement of the contract, or a row of the threats. */
export type Clause = { readonly id: string; readonly text: string; readonly isPlanned: boolean }

export const root = join(import.meta.dirname, '..')

const read = (file: string) => readFileSync(join(root, file), 'utf8')

export function statements(): readonly Clause[] {
  return statementsIn(read('docs/contract.md'))
}

export function threats(): readonly Clause[] {
  return threatsIn(read('docs/threats.md'))
}

const PLANNED = String.raw`( _\(planned\)_)?`
/** `5.4.1` is of the interface, `D5.2` was decided. */
const STATEMENT_ID = String.raw`D?\d+(?:\.\d+)+`
const STATEMENT = new RegExp(String.raw`^- \*\*(${STATEMENT_ID})\*\*${PLANNED} (.+)$`, 'gm')
/** `M-18`, `E7`, `I9`. */
const THREAT_ID = String.raw`[A-Z]-\d{2}|[EI]\d{1,3}`
const ROW = new RegExp(String.raw`^\| (${THREAT_ID})${PLANNED} *\| (.+?) *\|`, 'gm')

export function statementsIn(contract: string): readonly Clause[] {
  return clausesIn(contract, STATEMENT)
}

export function threatsIn(document: string): readonly Clause[] {
  return clausesIn(document, ROW)
}

function clausesIn(document: string, pattern: RegExp): readonly Clause[] {
  return [...document.matchAll(pattern)].map(([, id = '', mark, text = '']) => ({ id, text, isPlanned: !!mark }))
}

export function isOfInterface({ id }: Clause): boolean {
  return !id.startsWith('D')
}

const ID = new RegExp(String.raw`(?<![\w-])(?:${THREAT_ID}|D\d{1,2}\.\d{1,2})(?![\w-]|\.\d)`, 'g')
/** A bare number may be a version or a price; in a text it is a statement only after this word. */
const OF_CONTRACT = /\bcontract (\d+(?:\.\d+)+)/gi

/** Every id that a text names, whatever it is about. */
export function idsIn(text: string): readonly string[] {
  return [...(text.match(ID) ?? []), ...[...text.matchAll(OF_CONTRACT)].map(([, id = '']) => id)]
}

const NAMED = new RegExp(String.raw`['"\x60]((?:${THREAT_ID})(?:(?:, |/)(?:${THREAT_ID}))*)(?![\w-])`, 'g')

/** The threats that the tests of a file name, at the beginning of their names. */
export function threatsNamedIn(source: string): readonly string[] {
  return [...source.matchAll(NAMED)].flatMap(([, ids = '']) => ids.split(/, |\//))
}

/** Whatever leads a reader to a text that this repository does not hold. */
export function strayReferencesIn(text: string, files: ReadonlySet<string>): readonly string[] {
  const pages = text.match(/\b[A-Z][A-Z0-9_-]+\.md\b/g) ?? []
  return [...(text.match(STRAY) ?? []), ...pages.filter((name) => !files.has(name))]
}

// A section of a standard is named with its standard. In pieces, because this file is searched too.
const WORDS = ['RELIA' + 'BILITY', 'INTER' + 'FACE', 'ECO' + 'SYSTEM', 'ENE' + 'MIES']
const STRAY = new RegExp(String.raw`\b(?:${WORDS.join('|')})\b|(?<!\b(?:RFC|EIP|ERC)[ -]\d+,? )\u00a7 ?\S*`, 'g')

/** Everything people wrote here; not what was installed, measured or left behind by a run. */
export function texts(): readonly { readonly file: string; readonly text: string }[] {
  const kinds = 'ts,js,json,md,sol,sql,html,txt,xml,svg,yaml,yml'
  const files = globSync(
    [
      `**/*.{${kinds}}`,
      '.env.example',
      '.*ignore',
      '.npmrc',
      '.ci/*',
      '.github/**/*.*',
      'deploy/**/*.*',
      'Caddyfile',
      'Dockerfile',
    ],
    {
      cwd: root,
      exclude: ['node_modules', 'data', 'dist', 'coverage', 'bench/results', 'package-lock.json'],
    },
  )
  return files.sort().map((file) => ({ file, text: read(file) }))
}

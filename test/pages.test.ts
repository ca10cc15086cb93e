import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { eventTypes } from '../src/domain/event.ts'
import { texts } from './law.ts'
import { verifies } from './support/verifies.ts'

// What a reader is sent to is there, and what a reader is told to type exists.

const pages = texts().filter(({ file }) => file.endsWith('.md'))
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly files: readonly string[]
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** Each thing that a page names and that is missing, with the page. */
function missing(pattern: RegExp, isThere: (name: string, file: string) => boolean): readonly string[] {
  const found = pages.flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([, name = '']) => ({ file, name })))
  assert.ok(found.length > 0, `no page has ${pattern}`)
  return found.filter(({ file, name }) => !isThere(name, file)).map(({ file, name }) => `${file}: ${name}`)
}

test('every link between pages leads to a file', () => {
  assert.deepEqual(
    missing(/\]\((?!https?:|#)([^)#]+)/g, (path, file) => existsSync(join(dirname(file), path))),
    [],
  )
})

test('every file and folder that a page names by its path is there', () => {
  const path = /`((?:src|test|docs|bin|web|bench(?!\/results)|deploy|contracts|examples)\/[\w./*-]+)`/g
  assert.deepEqual(
    missing(path, (name) => globSync(name).length > 0),
    [],
  )
})

test('every script that a page tells to run exists', () => {
  assert.deepEqual(
    missing(/\bnpm run ([\w:]+)/g, (name) => name in manifest.scripts),
    [],
  )
  assert.deepEqual(
    missing(/\bnpx node (?:--test )?([\w./-]+\.ts)/g, (name) => existsSync(name)),
    [],
  )
  assert.deepEqual(
    missing(/\bnpm test -- ([\w./-]+\.ts)/g, (name) => existsSync(name)),
    [],
  )
})

test('the page about dependencies has a reason for each package that the shop runs on, and for no other', () => {
  const page = readFileSync('docs/dependencies.md', 'utf8')
  const named = [...page.matchAll(/^\| `([^`]+)` +\| \S/gm)].map(([, name]) => name!)
  assert.deepEqual(named, Object.keys(manifest.dependencies).sort())
})

test('the page about events has a row for each type, and for no other', () => {
  verifies('D10.2')
  const page = readFileSync('docs/webhooks.md', 'utf8')
  const table = /\n## Event types\n(.*?)\n## /s.exec(page)![1]!
  const rows = [...table.matchAll(/^\| (`[^|]+`) +\|/gm)].map(([, types]) => types!)
  assert.deepEqual(
    rows.flatMap((types) => [...types.matchAll(/`([^`]+)`/g)].map(([, type]) => type!)).sort(),
    [...eventTypes].sort(),
  )
})

test('everything that the package shall hold is there, and `dist` is made by packing', () => {
  assert.deepEqual(
    manifest.files.filter((pattern) => globSync(pattern).length === 0),
    ['dist'],
  )
})

test('the workflow and the templates call what the README calls, and nothing else of ours', () => {
  const allowed = new Set(['npm install', 'npm test', 'npm start'])
  for (const file of globSync('.github/**/*.{yml,md}')) {
    const commands = readFileSync(file, 'utf8').match(/\bnpm [a-z]+/g) ?? []
    for (const command of commands) assert.ok(allowed.has(command), `${file}: ${command}`)
  }
})

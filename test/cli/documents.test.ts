import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { commands } from '../../src/cli/commands.ts'
import { root } from './sutler.ts'

// What people read beside the code must not name what does not exist.

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const pages = globSync(['docs/{,operating/,recipes/}*.md', '*.md', 'Dockerfile', 'compose.yaml', 'Caddyfile'], {
  cwd: root,
})

test('every option that a page names is in .env.example', () => {
  const known = new Set(
    read('.env.example')
      .match(/^(# )?[A-Z][A-Z0-9_]+(?==)/gm)!
      .map((name) => name.replace('# ', '')),
  )
  // The secret of the sample receiver, and the switches of the test runner, are no options of the shop.
  const others = /^SUTLER_(WEBHOOK_SECRET|TEST_\w*)$/
  for (const page of pages)
    for (const [name] of read(page).matchAll(/\bSUTLER_[A-Z0-9_]*[A-Z0-9]\b/g))
      assert.ok(known.has(name.replace(/_FILE$/, '')) || others.test(name), `${page} names ${name}`)
})

test('every command that a page names exists', () => {
  const words = new Set(['help', ...commands.flatMap(({ name }) => [name, name.split(' ')[0]!])])
  for (const page of pages.filter((page) => page.endsWith('.md')))
    for (const [, first, second] of read(page).matchAll(/(?:`|npx )sutler ([a-z-]+)(?: ([a-z]+))?/g))
      assert.ok(words.has(`${first} ${second}`) || words.has(first!), `${page} names sutler ${first} ${second}`)
})

test('every link between the pages leads somewhere', () => {
  for (const page of pages.filter((page) => page.startsWith('docs/')))
    for (const [, target] of read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g))
      assert.ok(existsSync(join(root, dirname(page), target!)), `${page} links to ${target}`)
})

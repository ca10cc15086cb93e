import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '../../src/cli/commands.ts'
import { sutler } from './sutler.ts'
import { typed } from './typed.ts'

test('without a word it lists every command', async () => {
  const { code, stdout } = await sutler([])
  assert.equal(code, 0)
  for (const { name, summary } of commands) assert.ok(stdout.includes(`${name} `) && stdout.includes(summary), name)
})

test('each command teaches: what it does, every option, and a line to copy', async () => {
  for (const entry of commands) {
    const { about, options, examples } = await entry.load()
    assert.ok(about.length > 60, `${entry.name} says too little`)
    assert.ok(examples.length > 0, `${entry.name} has no example`)
    for (const [line] of examples) assert.match(line, /sutler |curl /, entry.name)
    for (const [name, option] of Object.entries(options)) assert.ok(option.about.length > 5, `${entry.name} --${name}`)
  }
})

test('help is asked for before or after a command, and for a group of them', async () => {
  const [after, before, group] = await Promise.all([
    typed(['orders', 'show', '--help'], {}),
    typed(['help', 'orders', 'show'], {}),
    typed(['orders', '--help'], {}),
  ])
  assert.match(after.stdout, /^Usage {2}sutler orders show <order>/)
  assert.equal(after.stdout, before.stdout)
  assert.match(group.stdout, /orders decide/)
  assert.doesNotMatch(group.stdout, /verify-receipt/)
})

test('what is not understood ends with 2 and says where to read', async () => {
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['fly'], /there is no command fly; see `sutler --help`/],
    [['ordrs'], /there is no command ordrs; there is orders/],
    [['orders', 'eat'], /there is no command orders eat; there are orders list, orders show/],
    [['start', '--colour'], /unknown option '--colour'; see `sutler start --help`/],
    [['refund'], /it needs <order>; see `sutler refund --help`/],
    [['orders', 'list', '--before', 'yesterday'], /yesterday is not a time, such as/],
    [['orders', 'decide', 'ord_1', 'perhaps', '--by', 'mara'], /neither delivered nor not-delivered/],
    [['orders', 'decide', 'ord_1', 'delivered'], /say with --by who/],
  ]
  for (const [args, words] of wrong) {
    const { code, stderr } = await typed(args, {})
    assert.equal(code, 2, stderr)
    assert.match(stderr, words)
  }
  assert.equal((await sutler(['fly'])).code, 2, 'and so does a process')
})

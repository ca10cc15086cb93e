import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildArtifacts, isAsNoted, staleArtifacts } from '../../contracts/build.ts'

// Compiling takes most of a minute, and gives the same as long as nothing changes. `npm test -- --only=artifacts --contracts` compiles.

test('the committed artifacts are what the sources gave, and neither has changed since', () => {
  assert.ok(isAsNoted(), 'run `npm run contracts`')
})

test('the committed artifacts are what the sources give', { skip: process.env['TEST_CONTRACTS'] === undefined }, () => {
  assert.deepEqual(staleArtifacts(buildArtifacts()), [])
})

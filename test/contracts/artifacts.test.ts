import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildArtifacts, staleArtifacts } from '../../contracts/build.ts'

test('the committed artifacts are what the sources give', () => {
  assert.deepEqual(staleArtifacts(buildArtifacts()), [])
})

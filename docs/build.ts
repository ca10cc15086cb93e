// Writes the documents that are printed from code, and the examples that are taken from a run: npm run docs
import { writeFileSync } from 'node:fs'
import { errorsMarkdown } from '../src/api/pages/errors.ts'
import { startSandbox } from '../test/cli/sutler.ts'
import { collectAnswers } from './answers.ts'
// Each surface declares its own errors.
import '../src/service/surfaces.ts'

writeFileSync(new URL('errors.md', import.meta.url), errorsMarkdown())

const sandbox = await startSandbox({ SUTLER_WEBHOOK_LOOPBACK: 'true' })
try {
  const answers = await collectAnswers(sandbox)
  writeFileSync(new URL('answers.json', import.meta.url), `${JSON.stringify(answers, null, 2)}\n`)
} finally {
  await sandbox.stop()
  sandbox.remove()
}

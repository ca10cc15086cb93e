// Writes the documents that are printed from code: npm run docs
import { writeFileSync } from 'node:fs'
import { errorsMarkdown } from '../src/api/pages/errors.ts'
// Each surface declares its own errors.
import '../src/service/surfaces.ts'

writeFileSync(new URL('errors.md', import.meta.url), errorsMarkdown())

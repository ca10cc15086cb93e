import { delimiter } from 'node:path'

// What it takes to install as a stranger would, from inside these tests.

/** As in a terminal: nothing of the checkout that these tests run in. */
export const plainPath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter)

/** Why nothing could be installed: a registry that cannot be reached says nothing about the package. Anything else is thrown. */
export function registryTrouble(error: unknown): string {
  const said = String((error as { stderr?: string }).stderr)
  const code = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ENOTCACHED)\b/.exec(said)?.[0]
  if (code === undefined) throw error
  return `npm could not reach its registry (${code}), so nothing was installed and nothing of it was tried`
}

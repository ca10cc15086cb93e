import { readFileSync } from 'node:fs'

/** Whom a process runs as that must not be root. */
export type Account = { readonly uid: number; readonly gid: number }

/** Null when we are not root ourselves. */
export function unprivilegedAccount(): Account | null {
  if (process.getuid?.() !== 0) return null
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (!user) throw new Error('we are root, and there is no user postgres or nobody to be instead')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

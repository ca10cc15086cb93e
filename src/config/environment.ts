import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { Environment } from './options.ts'

/** What the process was given, over what a file `.env` in the working folder says. The only look at `process.env`. */
export function readEnvironment(file = '.env'): Environment {
  return { ...readFile(file), ...process.env }
}

function readFile(file: string): Environment {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { replaceFile } from './durable-file.ts'

/** `kept`: it has another value already, which only a person may change. */
type WrittenEnv = 'written' | 'there' | 'kept'

/**
 * Fills an option in where the file leaves it open, and nothing else: everything that somebody wrote stays as it is. The line may be missing,
 * empty, or commented out.
 */
export function fillOption(path: string, name: string, value: string): WrittenEnv {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const current = parseEnv(text)[name] ?? ''
  if (current === value) return 'there'
  if (current !== '') return 'kept'
  replaceFile(path, withOption(text, name, value), { mode: 0o600 })
  return 'written'
}

/** For an option that is known to have another value by now. */
export function changeOption(path: string, name: string, value: string): void {
  replaceFile(path, withOption(readFileSync(path, 'utf8'), name, value), { mode: 0o600 })
}

function withOption(text: string, name: string, value: string): string {
  const line = `${name}=${value}`
  const lines = text.split('\n')
  const place =
    lines.findIndex((one) => one.startsWith(`${name}=`)) >= 0
      ? lines.findIndex((one) => one.startsWith(`${name}=`))
      : lines.findIndex((one) => one.startsWith(`# ${name}=`))
  if (place >= 0) return lines.with(place, line).join('\n')
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`
}

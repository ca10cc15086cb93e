import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { RetiredRail } from './config.ts'
import { type OptionReader, optionReader } from './options.ts'
import { readRails } from './rails.ts'

/** The rails of an earlier configuration, from the file that it was in. They sell nothing, whatever it says. */
export function earlierRails(read: OptionReader, file: string): readonly RetiredRail[] {
  const option = 'SUTLER_RETIRED_ENV'
  const text = readText(file)
  if (text === null) return read.fault(option, `${file} cannot be read`, [])
  const earlier = optionReader(parseEnv(text))
  const protocols = { x402: earlier.flag('SUTLER_X402', true), mpp: earlier.flag('SUTLER_MPP', true) }
  const { x402, mpp, retired } = readRails(earlier, protocols, { baseUrl: earlier.text('SUTLER_BASE_URL', '') })
  for (const { option: name, message } of earlier.issues) read.fault(option, `in ${file}, ${name} ${message}`, null)
  return [
    ...(x402 ? [{ rail: 'x402' as const, config: x402 }] : []),
    ...(mpp ? [{ rail: 'mpp' as const, config: mpp }] : []),
    ...retired,
  ]
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

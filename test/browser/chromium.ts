import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** The one without windows first: it does the same with a third less work. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
]

/** The browser of this machine; null when it has none. TEST_BROWSER=required makes that a failure. */
export function findChromium(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const named = process.env['TEST_CHROMIUM']
  const found = [
    ...(named ? [named] : []),
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
  ].find(existsSync)
  if (found === undefined && process.env['TEST_BROWSER'] === 'required')
    throw new Error('TEST_BROWSER=required, and there is no Chromium; install it, or name it in TEST_CHROMIUM')
  return found ?? null
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'

/** The one without windows first: it does the same with a third less work. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
]

/** One browser for all files of a process: each start costs a second of CPU. */
export type SharedBrowser = {
  /** Why nothing is proven here; false where there is a browser. */
  readonly skip: string | false
  open(): Promise<Browser>
  /** Closes the windows of a file; after the last file, the browser. */
  leave(): Promise<void>
}

/** Files that are loaded and have not left yet. */
let users = 0
let running: Promise<Browser> | null = null

/** To be called while a file is loaded. The files of a process are all loaded before the first one runs, and they run one after the other. */
export function sharedBrowser(): SharedBrowser {
  const executable = findChromium()
  users++
  return {
    skip: executable === null && 'there is no Chromium on this machine; nothing was proven about browsers',
    open() {
      running ??= chromium.launch({ executablePath: executable!, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
      return running
    },
    async leave() {
      users--
      const browser = await running
      await Promise.all(browser?.contexts().map((context) => context.close()) ?? [])
      if (users === 0) await browser?.close()
    },
  }
}

/** The test runner ends what hangs; a busy machine is no failure. */
const PATIENCE_MS = 240_000

/** Somebody's browser, with cookies of its own, in which everything may take its time. Without a graphics card motion costs more than all else. */
export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}

/** The browser of this machine; null when it has none. TEST_BROWSER=required makes that a failure. */
function findChromium(): string | null {
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

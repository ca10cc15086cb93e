// The sandbox as `npm start` has it: compiled code is kept in a folder, and what is loaded is loaded after that was said.
import { enableCompileCache } from 'node:module'
import { serveMeasured } from '../measured.ts'

export type SandboxOrder = { readonly port: number; readonly dataDir: string; readonly cacheDir: string }

await serveMeasured<SandboxOrder>(async ({ port, dataDir, cacheDir }) => {
  enableCompileCache(cacheDir)
  const { loadConfig } = await import('../../src/config/load.ts')
  const { openSandbox } = await import('../../src/cli/running-shop.ts')
  const loaded = loadConfig({ PORT: String(port), SUTLER_DATA_DIR: dataDir, SUTLER_LOG: 'error' })
  if (loaded.mode !== 'sandbox') throw new TypeError('the bench runs the sandbox')
  return (await openSandbox(loaded)).service.url
})

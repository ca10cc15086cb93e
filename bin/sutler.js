#!/usr/bin/env node
// The one JavaScript file: it must also run on Node 20, where it can only say how to get the pinned Node 24.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const major = Number(process.versions.node.split('.')[0])
if (major >= 24) {
  // Compiled code is kept between starts: the second start takes half as long.
  module.enableCompileCache()
  await import('../src/cli/main.ts')
} else {
  const pinned = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))
  if (!existsSync(pinned)) {
    console.error(
      `sutler needs Node 24 and runs on ${process.version}. Run \`npm install\` here (it brings the pinned Node), then try again.`,
    )
    process.exit(1)
  }
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
}

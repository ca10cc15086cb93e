#!/usr/bin/env node
// The one JavaScript file: it must also run on Node 20, where it hands everything to the pinned Node 24.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

if (Number.parseInt(process.versions.node, 10) >= 24) await run()
else handOver()

async function run() {
  // Whoever started us with a channel is gone when it closes, even by `kill -9`: then we end as on SIGTERM, and hold neither port nor folder.
  if (process.connected) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
    process.channel.unref()
  }
  // Compiled code is kept between starts: the second start takes half as long.
  module.enableCompileCache()
  await import('../src/cli/main.ts')
}

function handOver() {
  const node = pinnedNode()
  if (node === null) {
    console.error(
      `sutler needs Node 24 and runs on ${process.version}. Run \`npm install\` here (it brings the pinned Node), then try again.`,
    )
    process.exit(1)
  }
  const argv = [fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(node, argv, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  // Each is passed on once, and we stay until the child has ended: a terminal sends Ctrl+C to both of us.
  const passed = new Set()
  for (const signal of SIGNALS)
    process.on(signal, () => passed.has(signal) || (passed.add(signal) && child.kill(signal)))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    // It died of a signal, and so do we: whoever waits for us can tell.
    for (const each of SIGNALS) process.removeAllListeners(each)
    process.kill(process.pid, signal)
  })
}

/** It lies beside this package or inside it, wherever npm put it. Null when it was not installed. */
function pinnedNode() {
  try {
    const manifest = module.createRequire(import.meta.url).resolve('node/package.json')
    const program = join(dirname(manifest), 'bin/node')
    return existsSync(program) ? program : null
  } catch {
    return null
  }
}

#!/usr/bin/env node
// The one JavaScript file: it must also run on Node 20, where it hands everything to the pinned Node 24.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']
const LOOK_EVERY_MS = 1000

if (process.env.npm_lifecycle_event === 'npx') followShell()
if (Number.parseInt(process.versions.node, 10) >= 24) await run()
else handOver()

async function run() {
  // Whoever started us with a channel is gone when it closes, even by `kill -9`: then we end as on SIGTERM, and hold neither port nor folder.
  if (process.connected) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
    process.channel.unref()
  }
  // Compiled code is kept between starts: the second start takes half as long.
  const { directory } = module.enableCompileCache()
  // Threads look for it here: the store's and the chains' took a tenth of a start to compile.
  if (directory) process.env.NODE_COMPILE_CACHE ??= dirname(directory)
  // A checkout runs its TypeScript as it is; the package has the same files without types (pack.ts).
  await import(existsSync(new URL('../src', import.meta.url)) ? '../src/cli/main.ts' : '../dist/cli/main.js')
}

function handOver() {
  const node = pinnedNode()
  if (node === null) {
    console.error(
      `sutler needs Node 24 and runs on ${process.version}. Run \`npm install\` here and let the package \`node\` run its install script (it brings the pinned Node), or use Node 24.`,
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

/**
 * `npx` runs us from a shell that dies of a signal without passing it on, and nothing that we share with the shell would tell. Looking
 * whether we still have the same parent is all that is left.
 */
function followShell() {
  const shell = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_EVERY_MS)
  timer.unref()
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

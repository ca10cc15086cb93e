// Both chains in a process of their own: node src/devchain/main.ts --port 8545 --data ./data
// They answer at /84532 and /42431. With no --data they forget everything at the end. The folder is one as the sandbox has it, and like
// the sandbox they have it for themselves.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { claimFolder } from '../base/data-folder.ts'
import { createDevChain } from './chain.ts'
import { serveRpc } from './server.ts'

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '8545' },
      data: { type: 'string' },
      'block-time': { type: 'string' },
      faults: { type: 'boolean', default: false },
    },
  })
  const folder = values.data === undefined ? null : claimFolder(values.data)
  const blockTime = values['block-time']
  const common = {
    dataDir: folder === null ? undefined : join(folder.path, 'chains'),
    faults: values.faults,
    blockTimeMs: blockTime === undefined ? undefined : Number(blockTime),
  }
  const chains = [
    await createDevChain({ ...common, rules: 'native' }),
    await createDevChain({ ...common, rules: 'tempo' }),
  ]
  const server = await serveRpc(chains, { host: values.host, port: Number(values.port) })
  for (const { chainId } of chains) process.stdout.write(`dev chain ${chainId} at ${server.url}/${chainId}\n`)

  async function stop(): Promise<void> {
    await server.close()
    await Promise.all(chains.map((chain) => chain.close()))
    folder?.release()
  }
  process.once('SIGINT', () => void stop().catch(fail))
  process.once('SIGTERM', () => void stop().catch(fail))
}

function fail(error: NodeJS.ErrnoException): void {
  // An error with a code is the user's to mend; one without is ours.
  process.stderr.write(`${error.code ? error.message : error.stack}\n`)
  process.exitCode = 1
}

main().catch(fail)

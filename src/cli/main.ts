import { readEnvironment } from '../config/environment.ts'
import { runLine } from './line.ts'

// The process of a command: the line it was started with, and its end.

const { stdout, stderr } = process
const code = await runLine(process.argv.slice(2), { streams: { stdout, stderr }, readEnvironment })
// Sockets that are kept for the next request would keep the process; what was written must leave first.
for (const stream of [stdout, stderr]) await new Promise<void>((written) => stream.write('', () => written()))
process.exit(code)

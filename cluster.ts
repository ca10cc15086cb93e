import { writeFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { CLUSTER } from './src/store/embedded/cluster.ts'

// Run by `npm run cluster` after any change of PGlite: makes the empty database that a new data folder begins with, as `initdb` does.

// Segments of 4 MB instead of 16: the log of a small shop stays small, and so does what a nearly full disk must give at once.
const initDbStartParams = ['--wal-segsize=4', '--no-instructions']

const pglite = await PGlite.create({ initDbStartParams })
const archive = Buffer.from(await (await pglite.dumpDataDir('none')).arrayBuffer())
await pglite.close()
// It holds three databases that are nearly the same, so the window must reach from one to the next.
const params = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  [constants.BROTLI_PARAM_SIZE_HINT]: archive.length,
}
writeFileSync(CLUSTER, brotliCompressSync(archive, { params }))

import { openDatabase } from '../../../src/store/db.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { quiet } from '../../support/database.ts'

// Opens a database, says so, and runs the migrations of a folder.

const [place, folder] = process.argv.slice(2)
const db = await openDatabase({ ...quiet, ...(JSON.parse(place!) as { dataDir: string; url?: string }) })
console.log('open')
await migrate(db, { folder: folder! })
await db.close()

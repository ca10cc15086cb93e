import { openDatabase } from '../../../src/store/db.ts'
import { quiet } from '../../support/database.ts'

// Opens a folder, prints `open` or the code and message of the refusal, and stays until its input closes.

try {
  const db = await openDatabase({ ...quiet, dataDir: process.argv[2]! })
  console.log('open')
  for await (const _ of process.stdin);
  await db.close()
} catch (error) {
  const { code, message } = error as { code?: string; message: string }
  console.log(JSON.stringify({ code, message }))
}

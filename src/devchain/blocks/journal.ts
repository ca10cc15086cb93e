import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { DevChainError } from '../errors.ts'

/**
 * An append-only file of JSON records. Records appended while the disk is busy are written together, as one frame, and one
 * `fdatasync` makes them durable. A frame is a line: length and CRC-32 of the payload in hexadecimal, then the payload, a JSON
 * array of records. The next frame is only written after the last one is safe, so only the last frame can ever be torn.
 */
export type Journal = {
  append(record: unknown): void
  /** Resolves when everything appended so far is on disk. Rejects for good once a write has failed. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** For a chain that lives in memory only. */
export const noJournal: Journal = { append() {}, settled: async () => {}, close: async () => {} }

/**
 * Opens or creates the file, hands every record to `replay` in order, and cuts off a torn last frame: nobody was told that it
 * happened. `title` is the first line; a file with another one belongs to something else.
 */
export async function openJournal(path: string, title: string, replay: (record: unknown) => void): Promise<Journal> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw unwritable(path, error)
  })
  const head = Buffer.from(`${title}\n`)
  // A first line that is cut short is a first start that was cut short.
  const isNew = bytes === null || (bytes.length < head.length && head.subarray(0, bytes.length).equals(bytes))
  const length = isNew ? head.length : readFrames(path, head, bytes, replay)
  const file = await open(path, isNew ? 'w' : 'r+').catch((error) => Promise.reject(unwritable(path, error)))
  if (isNew) await file.write(head)
  await file.truncate(length)
  await file.sync()
  if (isNew) await syncFolder(dirname(path))
  return appender(path, file, length)
}

type File = Awaited<ReturnType<typeof open>>

function appender(path: string, file: File, length: number): Journal {
  let position = length
  let collecting: string[] | null = null
  /** The end of the newest batch. A batch waits for the one before it, and fails with it. */
  let written: Promise<void> = Promise.resolve()

  async function writeBatch(): Promise<void> {
    const frame = encodeFrame(collecting!)
    collecting = null
    try {
      await writeAll(file, frame, position)
      await file.datasync()
    } catch (error) {
      throw unwritable(path, error as Error)
    }
    position += frame.length
  }

  return {
    append(record) {
      if (collecting === null) {
        collecting = []
        written = written.then(writeBatch)
        // Whoever asks `settled` hears of a failure; until somebody asks it is not an unhandled one.
        written.catch(() => {})
      }
      collecting.push(JSON.stringify(record))
    },
    settled: () => written,
    async close() {
      await written.finally(() => file.close())
    },
  }
}

/** A disk that fills up takes a part of the bytes and calls it a success; the error comes with the rest. */
async function writeAll(file: File, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

// Two numbers of eight digits, each followed by a space.
const PREFIX_BYTES = 18

function encodeFrame(records: readonly string[]): Buffer {
  const payload = Buffer.from(`[${records.join()}]`)
  return Buffer.concat([
    Buffer.from(`${digits(payload.length)} ${digits(crc32(payload))} `),
    payload,
    Buffer.from('\n'),
  ])
}

function digits(value: number): string {
  return value.toString(16).padStart(8, '0')
}

/** Replays the whole frames and returns where the last one ends. */
function readFrames(path: string, head: Buffer, bytes: Buffer, replay: (record: unknown) => void): number {
  if (!bytes.subarray(0, head.length).equals(head)) {
    const found = bytes.subarray(0, head.length).toString().split('\n')[0]
    throw corrupt(path, `it starts with ${JSON.stringify(found)} instead of ${JSON.stringify(head.toString().trim())}`)
  }
  let position = head.length
  while (position < bytes.length) {
    const payload = frameAt(bytes, position)
    if (payload === null) {
      const next = nextFrame(bytes, position)
      if (next === null) return position
      throw corrupt(path, `the record at byte ${position} is damaged, and whole records follow it at byte ${next}`)
    }
    for (const record of JSON.parse(payload.toString()) as unknown[]) replay(record)
    position += PREFIX_BYTES + payload.length + 1
  }
  return position
}

function frameAt(bytes: Buffer, position: number): Buffer | null {
  const prefix = bytes.toString('latin1', position, position + PREFIX_BYTES)
  if (!/^[0-9a-f]{8} [0-9a-f]{8} $/.test(prefix)) return null
  const end = position + PREFIX_BYTES + Number.parseInt(prefix.slice(0, 8), 16)
  if (bytes[end] !== 0x0a) return null
  const payload = bytes.subarray(position + PREFIX_BYTES, end)
  return digits(crc32(payload)) === prefix.slice(9, 17) ? payload : null
}

/** A payload holds no line break, so a whole frame can only start after one. */
function nextFrame(bytes: Buffer, after: number): number | null {
  for (let at = bytes.indexOf(0x0a, after); at !== -1; at = bytes.indexOf(0x0a, at + 1)) {
    if (frameAt(bytes, at + 1) !== null) return at + 1
  }
  return null
}

/** A new file is only there after a power cut if its folder was synced too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}

function corrupt(path: string, what: string): DevChainError {
  return new DevChainError(
    'devchain_corrupt',
    `The dev chain cannot read ${path}: ${what}. Restore the file from a copy, or move the whole data folder away to start over.`,
  )
}

function unwritable(path: string, cause: Error): DevChainError {
  return new DevChainError('devchain_unwritable', `The dev chain cannot use ${path}: ${cause.message}.`, cause)
}

import { Duplex } from 'node:stream'
import { joinedBytes } from './bytes.ts'

/** The other end of a connection: a worker that takes wire protocol messages and answers with bytes. */
export type Line = {
  /** `onBytes` gets every answer, `onEnd` is called once when the worker is gone. */
  open(onBytes: (bytes: Uint8Array) => void, onEnd: (error: Error) => void): number
  send(connection: number, bytes: Uint8Array<ArrayBuffer>): void
  hangUp(connection: number): void
}

type Done = (error?: Error | null) => void

/**
 * Looks like a `net.Socket` to `pg` and carries PostgreSQL's wire protocol to the worker, so that both engines have one driver,
 * one type map and one error model. A class because `pg` calls the methods of a socket.
 */
export class WireSocket extends Duplex {
  readonly #findLine: () => Promise<Line>
  #line: Line | null = null
  #connection = 0

  constructor(findLine: () => Promise<Line>) {
    super()
    this.#findLine = findLine
  }

  connect(): this {
    this.#findLine().then(
      (line) => {
        if (this.destroyed) return
        this.#line = line
        this.#connection = line.open(
          (bytes) => this.push(bytes),
          (error) => this.destroy(error),
        )
        this.emit('connect')
      },
      (error) => this.destroy(error),
    )
    return this
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#line?.send(this.#connection, new Uint8Array(chunk))
    done()
  }

  /** All messages of one query in one hop, and one call into the engine. */
  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.#line?.send(this.#connection, joinedBytes(chunks.map(({ chunk }) => chunk)))
    done()
  }

  override _final(done: Done): void {
    this.push(null)
    done()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#line?.hangUp(this.#connection)
    done(error)
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

import { connect, type Socket } from 'node:net'

/** A client that asks and does not read, until it is told to. */
export type Mute = {
  readonly socket: Socket
  /** Asks by writing an empty line, which means nothing: who does not read is told of a reset only when they write. */
  isCut(): boolean
  write(bytes: string): void
  /** Takes up to so many bytes of what has come; returns how many there were. */
  take(bytes: number): number
}

export function openMute(shop: { readonly url: string }): Mute {
  const socket = connect(Number(new URL(shop.url).port), '127.0.0.1').pause()
  let isCut = false
  socket.on('error', () => {})
  socket.on('close', () => {
    isCut = true
  })
  return {
    socket,
    isCut() {
      if (!isCut) socket.write('\r\n')
      return isCut
    },
    write: (bytes) => void socket.write(bytes),
    take(bytes) {
      // Without anything to read, this asks for more.
      const taken = socket.read(Math.min(bytes, socket.readableLength)) as Buffer | null
      return taken?.length ?? 0
    },
  }
}

/** The head of a request without a body, on a connection that stays. */
export function head(method: string, path: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

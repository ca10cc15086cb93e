import { hash } from 'node:crypto'

/** Keyed digest of a text, in base64url. */
export type Mac = (text: string) => string

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/**
 * HMAC-SHA-256 (RFC 2104) under one key. Node's own takes the key in and makes an object for each digest; where the key stays, two
 * digests in one stroke cost half of that.
 */
export function hmacSha256(key: string): Mac {
  const bytes = Buffer.from(key, 'utf8')
  const block = Buffer.alloc(BLOCK_BYTES)
  block.set(bytes.length > BLOCK_BYTES ? hash('sha256', bytes, 'buffer') : bytes)
  const inner = block.map((byte) => byte ^ 0x36)
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES)
  outer.set(block.map((byte) => byte ^ 0x5c))
  return (text) => {
    const message = Buffer.allocUnsafe(BLOCK_BYTES + Buffer.byteLength(text))
    message.set(inner)
    message.write(text, BLOCK_BYTES, 'utf8')
    // Written over at each call, and read before the next: nothing waits in between.
    outer.set(hash('sha256', message, 'buffer'), BLOCK_BYTES)
    return hash('sha256', outer, 'base64url')
  }
}

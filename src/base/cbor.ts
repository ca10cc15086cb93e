/** What authenticators write: whole numbers, bytes, text, lists and maps of known length. Everything else is refused. */
export type Cbor = number | string | Uint8Array | boolean | null | readonly Cbor[] | ReadonlyMap<Cbor, Cbor>

const DEPTH_MAX = 8

/** Reads one value (RFC 8949), and tells where it ends: a key is followed by whatever the authenticator adds. */
export function readCbor(bytes: Uint8Array, start = 0): { readonly value: Cbor; readonly end: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = start

  function take(length: number): Uint8Array {
    if (length > bytes.length - at) throw new RangeError('the CBOR ends too early')
    at += length
    return bytes.subarray(at - length, at)
  }

  /** The number that follows the first byte, or stands in it. */
  function count(info: number): number {
    if (info < 24) return info
    const size = ({ 24: 1, 25: 2, 26: 4 } as Readonly<Record<number, number>>)[info]
    if (size === undefined) throw new RangeError('the CBOR has a length that is not supported')
    const from = at
    take(size)
    return size === 1 ? view.getUint8(from) : size === 2 ? view.getUint16(from) : view.getUint32(from)
  }

  function value(depth: number): Cbor {
    if (depth > DEPTH_MAX) throw new RangeError('the CBOR nests too deep')
    const [first] = take(1)
    const info = first! & 31
    switch (first! >> 5) {
      case 0:
        return count(info)
      case 1:
        return -1 - count(info)
      case 2:
        return take(count(info))
      case 3:
        return new TextDecoder('utf-8', { fatal: true }).decode(take(count(info)))
      case 4:
        return Array.from(places(count(info)), () => value(depth + 1))
      case 5:
        return map(places(count(info)), depth)
      case 7:
        if (info === 20 || info === 21) return info === 21
        if (info === 22) return null
    }
    throw new RangeError('the CBOR has a value that is not supported')
  }

  /** Each takes a byte at least: no length makes us reserve more than was sent. */
  function places(length: number): { readonly length: number } {
    if (length > bytes.length - at) throw new RangeError('the CBOR ends too early')
    return { length }
  }

  function map({ length }: { readonly length: number }, depth: number): ReadonlyMap<Cbor, Cbor> {
    const entries = new Map<Cbor, Cbor>()
    for (let i = 0; i < length; i++) {
      const key = value(depth + 1)
      if (entries.has(key)) throw new RangeError('the CBOR names a key twice')
      entries.set(key, value(depth + 1))
    }
    return entries
  }

  const read = value(0)
  return { value: read, end: at }
}

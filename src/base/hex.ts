export type Hex = `0x${string}`

export function toHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

export function fromHex(hex: Hex): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex')
}

// QR codes, by ISO/IEC 18004: bytes, error correction M, the smallest version that holds them. Drawn as one path of an SVG.
import { html } from './parts.js'

/** Per version, from 1 to 40, at level M: error correction bytes of a block, and blocks. */
const ECC = [
  10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
]
const BLOCKS = [
  1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35,
  37, 38, 40, 43, 45, 47, 49,
]

/** How many modules carry data and error correction. */
function rawModules(version) {
  let modules = (16 * version + 128) * version + 64
  if (version >= 2) {
    const marks = Math.floor(version / 7) + 2
    modules -= (25 * marks - 10) * marks - 55
    if (version >= 7) modules -= 36
  }
  return modules
}
const dataBytes = (version) => Math.floor(rawModules(version) / 8) - ECC[version - 1] * BLOCKS[version - 1]

// The field of 256 elements over x^8 + x^4 + x^3 + x^2 + 1.
const EXP = new Uint8Array(512)
const LOG = new Uint8Array(256)
for (let power = 0, value = 1; power < 255; power++) {
  EXP[power] = value
  EXP[power + 255] = value
  LOG[value] = power
  value = (value << 1) ^ (value & 0x80 ? 0x11d : 0)
}
const times = (a, b) => (a === 0 || b === 0 ? 0 : EXP[LOG[a] + LOG[b]])

function remainder(data, degree) {
  // The product of (x - 2^0) … (x - 2^(degree-1)), highest power left out.
  const divisor = new Uint8Array(degree)
  divisor[degree - 1] = 1
  for (let i = 0, root = 1; i < degree; i++, root = times(root, 2))
    for (let j = 0; j < degree; j++) divisor[j] = times(divisor[j], root) ^ (divisor[j + 1] ?? 0)
  const rest = new Uint8Array(degree)
  for (const byte of data) {
    const factor = byte ^ rest[0]
    rest.copyWithin(0, 1)
    rest[degree - 1] = 0
    for (let i = 0; i < degree; i++) rest[i] ^= times(divisor[i], factor)
  }
  return rest
}

/** Mode, length, bytes, padding; split into blocks, each with its error correction, and interleaved. */
function codewords(bytes, version) {
  const bits = []
  const put = (value, length) => {
    for (let i = length - 1; i >= 0; i--) bits.push((value >>> i) & 1)
  }
  put(4, 4)
  put(bytes.length, version < 10 ? 8 : 16)
  for (const byte of bytes) put(byte, 8)
  const capacity = dataBytes(version) * 8
  put(0, Math.min(4, capacity - bits.length))
  while (bits.length % 8) bits.push(0)
  for (let pad = 0xec; bits.length < capacity; pad ^= 0xfd) put(pad, 8)
  const data = Array.from({ length: bits.length / 8 }, (_, i) =>
    bits.slice(i * 8, i * 8 + 8).reduce((all, bit) => (all << 1) | bit, 0),
  )
  const [blocks, ecc] = [BLOCKS[version - 1], ECC[version - 1]]
  const raw = Math.floor(rawModules(version) / 8)
  const shortBlocks = blocks - (raw % blocks)
  const shortLength = Math.floor(raw / blocks) - ecc
  const parts = []
  for (let i = 0, at = 0; i < blocks; i++) {
    const length = shortLength + (i < shortBlocks ? 0 : 1)
    const part = data.slice(at, at + length)
    at += length
    parts.push({ part, rest: remainder(part, ecc) })
  }
  const out = []
  for (let i = 0; i <= shortLength; i++) for (const { part } of parts) if (i < part.length) out.push(part[i])
  for (let i = 0; i < ecc; i++) for (const { rest } of parts) out.push(rest[i])
  return out
}

const MASKS = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

function alignmentPlaces(version) {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = version === 32 ? 26 : Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2
  const places = Array.from({ length: count - 1 }, (_, i) => version * 4 + 10 - i * step)
  return [6, ...places.reverse()]
}

/** Rows of dark and light modules. @param {string} text @returns {boolean[][]} */
export function qrModules(text) {
  const bytes = new TextEncoder().encode(text)
  let version = 1
  while (version <= 40 && dataBytes(version) * 8 < 4 + (version < 10 ? 8 : 16) + bytes.length * 8) version++
  if (version > 40) throw new RangeError('more than a QR code holds')
  const size = version * 4 + 17
  const dark = Array.from({ length: size }, () => new Array(size).fill(false))
  const fixed = Array.from({ length: size }, () => new Array(size).fill(false))
  const set = (x, y, isDark) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return
    dark[y][x] = isDark
    fixed[y][x] = true
  }
  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0)
    set(i, 6, i % 2 === 0)
  }
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ])
    for (let dy = -4; dy <= 4; dy++)
      for (let dx = -4; dx <= 4; dx++) {
        const ring = Math.max(Math.abs(dx), Math.abs(dy))
        set(cx + dx, cy + dy, ring !== 2 && ring !== 4)
      }
  const places = alignmentPlaces(version)
  const end = places.length - 1
  for (const [i, cx] of places.entries())
    for (const [j, cy] of places.entries()) {
      if ((i === 0 && j === 0) || (i === 0 && j === end) || (i === end && j === 0)) continue
      for (let dy = -2; dy <= 2; dy++)
        for (let dx = -2; dx <= 2; dx++) set(cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1)
    }
  if (version >= 7) {
    let rest = version
    for (let i = 0; i < 12; i++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25)
    const bits = (version << 12) | rest
    for (let i = 0; i < 18; i++) {
      const isDark = ((bits >>> i) & 1) === 1
      const [a, b] = [size - 11 + (i % 3), Math.floor(i / 3)]
      set(a, b, isDark)
      set(b, a, isDark)
    }
  }
  const drawFormat = (mask) => {
    // Level M is 00.
    let rest = mask
    for (let i = 0; i < 10; i++) rest = (rest << 1) ^ ((rest >>> 9) * 0x537)
    const bits = ((mask << 10) | rest) ^ 0x5412
    const bit = (i) => ((bits >>> i) & 1) === 1
    for (let i = 0; i <= 5; i++) set(8, i, bit(i))
    set(8, 7, bit(6))
    set(8, 8, bit(7))
    set(7, 8, bit(8))
    for (let i = 9; i < 15; i++) set(14 - i, 8, bit(i))
    for (let i = 0; i < 8; i++) set(size - 1 - i, 8, bit(i))
    for (let i = 8; i < 15; i++) set(8, size - 15 + i, bit(i))
    set(8, size - 8, true)
  }
  drawFormat(0)
  const words = codewords(bytes, version)
  let at = 0
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    for (let step = 0; step < size; step++)
      for (let j = 0; j < 2; j++) {
        const x = right - j
        const isUp = ((right + 1) & 2) === 0
        const y = isUp ? size - 1 - step : step
        if (fixed[y][x] || at >= words.length * 8) continue
        dark[y][x] = ((words[at >>> 3] >>> (7 - (at & 7))) & 1) === 1
        at++
      }
  }
  const flip = (mask) => {
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++) if (!fixed[y][x] && MASKS[mask](x, y)) dark[y][x] = !dark[y][x]
  }
  let best = { mask: 0, penalty: Number.POSITIVE_INFINITY }
  for (let mask = 0; mask < 8; mask++) {
    flip(mask)
    drawFormat(mask)
    const penalty = penaltyOf(dark)
    if (penalty < best.penalty) best = { mask, penalty }
    flip(mask)
  }
  flip(best.mask)
  drawFormat(best.mask)
  return dark
}

/** How hard it is to read: long runs, blocks, and an uneven share of dark. */
function penaltyOf(dark) {
  const size = dark.length
  let penalty = 0
  let darkCount = 0
  for (let a = 0; a < size; a++)
    for (const at of [(b) => dark[a][b], (b) => dark[b][a]]) {
      let run = 1
      for (let b = 1; b <= size; b++) {
        if (b < size && at(b) === at(b - 1)) run++
        else {
          if (run >= 5) penalty += run - 2
          run = 1
        }
      }
    }
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      if (dark[y][x]) darkCount++
      if (x && y && dark[y][x] === dark[y - 1][x] && dark[y][x] === dark[y][x - 1] && dark[y][x] === dark[y - 1][x - 1])
        penalty += 3
    }
  return penalty + Math.floor(Math.abs((darkCount / size ** 2) * 20 - 10)) * 10
}

/** Black on white in both themes: readers want it so. @param {{ text: string, label: string }} props */
export function Qr({ text, label }) {
  const rows = qrModules(text)
  const size = rows.length + 8
  const path = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4},${y + 4}h1v1h-1z` : ''))).join('')
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label=${label} shape-rendering="crispEdges"><rect width=${size} height=${size} fill="#fff" /><path d=${path} fill="#000" /></svg>`
}

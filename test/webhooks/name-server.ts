import { createSocket } from 'node:dgram'

/** What a name server says to a question: addresses, nothing at all, that there is no such name, or that it will not tell. */
type Saying = readonly string[] | 'silence' | 'denied' | 'refused'

type NameQuestion = { readonly name: string; readonly type: 'A' | 'AAAA' }

/** A real name server on this machine that says what a test wants. */
export type NameServer = {
  readonly address: string
  readonly heard: readonly NameQuestion[]
  stop(): void
}

export async function startNameServer(say: (question: NameQuestion) => Saying): Promise<NameServer> {
  const heard: NameQuestion[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const question = questionOf(query)
    heard.push(question)
    const saying = say(question)
    if (saying !== 'silence') socket.send(answerTo(query, saying), port, address)
  })
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done))
  return { address: `127.0.0.1:${socket.address().port}`, heard, stop: () => socket.close() }
}

const CODES = { denied: 3, refused: 5 } as const
const TYPE_AAAA = 28

/** A DNS message: the question again, and a record for each address, to be forgotten at once. */
export function answerTo(query: Buffer, saying: Exclude<Saying, 'silence'>): Buffer {
  const isSaid = typeof saying !== 'string'
  const addresses = isSaid ? saying : []
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 + (isSaid ? 0 : CODES[saying]), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  return Buffer.concat([header, query.subarray(12, endOf(query)), ...addresses.map(recordOf)])
}

function endOf(query: Buffer): number {
  return query.indexOf(0, 12) + 5
}

function questionOf(query: Buffer): NameQuestion {
  const labels: string[] = []
  for (let at = 12; query[at]! > 0; at += query[at]! + 1)
    labels.push(query.toString('ascii', at + 1, at + 1 + query[at]!))
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(endOf(query) - 4) === TYPE_AAAA ? 'AAAA' : 'A',
  }
}

/** IPv6 with all its eight groups. */
function recordOf(address: string): Buffer {
  const isIpv6 = address.includes(':')
  const bytes = isIpv6
    ? Buffer.from(
        address
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )
    : Buffer.from(address.split('.').map(Number))
  return Buffer.concat([Buffer.from([0xc0, 12, 0, isIpv6 ? TYPE_AAAA : 1, 0, 1, 0, 0, 0, 0, 0, bytes.length]), bytes])
}

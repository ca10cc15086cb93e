import http from 'node:http'
import https from 'node:https'

/** Sends one request and resolves with the parsed answer, or throws when none came. An answer of more than the bytes given is not read to its end. */
export type RpcTransport = (request: RpcRequest, answerBytesMax?: number) => Promise<unknown>
export type RpcRequest = {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** No usual answer comes near it. */
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** For what strangers can fill and we have to read all the same: a receipt, the transfers of one block. An empty log is 300 bytes and costs 375 gas. */
export const LARGE_ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** The node answered, with more than is read. It is not to blame: whoever filled the answer was somebody else. */
export class TooLarge extends Error {}

export const SEND = 'eth_sendRawTransaction'

/** The other side closed a kept connection just as it was used: nobody has read the question. */
class StaleConnection extends Error {}

/**
 * HTTP with kept connections. Node's `http` costs about half the CPU of `fetch` per call, and a purchase makes several. A question that
 * met a stale connection is asked again on another one; a send never is, because a repeated send is for the journal to decide.
 */
export function httpTransport(
  url: string,
  timeoutMs: number,
  headers: Readonly<Record<string, string>> = {},
): RpcTransport {
  const { protocol } = new URL(url)
  const client = protocol === 'https:' ? https : http
  const agent = new client.Agent({ keepAlive: true, maxSockets: 64 })
  const ask = (letter: RpcRequest | readonly RpcRequest[], answerBytesMax = ANSWER_BYTES_MAX) =>
    new Promise<unknown>((resolve, reject) => {
      const body = JSON.stringify(letter)
      // The whole answer must be here by then: a limit on silence alone would wait for ever for one that drips.
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
      const request = client.request(
        url,
        {
          method: 'POST',
          agent,
          headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
        },
        (response) => {
          const chunks: Buffer[] = []
          let size = 0
          response.on('data', (chunk: Buffer) => {
            size += chunk.length
            if (size > answerBytesMax)
              request.destroy(new TooLarge(`the answer is too large: more than ${answerBytesMax} bytes`))
            else chunks.push(chunk)
          })
          response.on('error', reject)
          response.on('end', () => {
            const { statusCode = 0 } = response
            if (statusCode === 429 || statusCode >= 500) return reject(new OddAnswer(`status ${statusCode}`))
            try {
              resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
            } catch (cause) {
              reject(new OddAnswer(`status ${statusCode}, and the body is not JSON`, { cause }))
            }
          })
          response.on('close', () => clearTimeout(timer))
        },
      )
      request.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer)
        const isStale = request.reusedSocket && error.code === 'ECONNRESET'
        reject(isStale ? new StaleConnection(error.message, { cause: error }) : error)
      })
      request.end(body)
    })
  return inBatches((letter, answerBytesMax) =>
    ask(letter, answerBytesMax).catch((error: unknown) => {
      if (!(error instanceof StaleConnection) || isSend(letter)) throw error
      return ask(letter, answerBytesMax)
    }),
  )
}

/** In-process chains (an EIP-1193 provider), used by the sandbox and by tests. */
export function providerTransport(provider: {
  request(call: { method: string; params: unknown[] }): Promise<unknown>
}): RpcTransport {
  return async ({ method, params }) => {
    try {
      return { result: await provider.request({ method, params: [...params] }) }
    } catch (error) {
      const { code, data, message } = error as { code?: unknown; data?: unknown; message: string }
      if (typeof code === 'number') return { error: { code, data, message } }
      throw error
    }
  }
}

/** Carries one letter to a node, with a question or with several, and brings back what it answered. */
type Post = (letter: RpcRequest | readonly RpcRequest[], answerBytesMax?: number) => Promise<unknown>

type Waiting = {
  readonly request: RpcRequest
  readonly answerBytesMax: number | undefined
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What nodes that charge nothing take at once. */
const BATCH_MAX = 10

/**
 * Questions that come up in one turn of the event loop go out in one letter (a JSON-RPC batch), whoever asks them: writing and reading a
 * letter costs more than the question in it. Whether a node takes batches shows with the first; one that does not is asked one by one from
 * then on.
 */
export function inBatches(post: Post): RpcTransport {
  let waiting: Waiting[] = []
  let takesBatches: boolean | null = null

  function flush(): void {
    const all = waiting
    waiting = []
    const size = takesBatches === false ? 1 : BATCH_MAX
    for (let at = 0; at < all.length; at += size) void send(all.slice(at, at + size))
  }

  async function send(questions: readonly Waiting[]): Promise<void> {
    if (questions.length === 1) return void alone(questions[0]!)
    try {
      const answers = await post(questions.map(({ request }, id) => ({ ...request, id })))
      if (isRefusal(answers)) return await oneByOne(questions)
      takesBatches = true
      const byId = new Map((answers as readonly Answer[]).map((answer) => [answer?.id, answer]))
      for (const [id, { resolve }] of questions.entries()) resolve(byId.get(id))
    } catch (error) {
      // One of them has a long answer, perhaps because a stranger wished it; the others want theirs.
      if (error instanceof TooLarge) return void questions.map(alone)
      // Silence is silence. An odd answer may be the way in which a node that has taken no batch yet says that it takes none.
      if (takesBatches || !(error instanceof OddAnswer)) for (const { reject } of questions) reject(error)
      else await oneByOne(questions)
    }
  }

  async function oneByOne(questions: readonly Waiting[]): Promise<void> {
    const answered = await Promise.all(questions.map(alone))
    if (answered.includes(true)) takesBatches = false
  }

  async function alone({ request, answerBytesMax, resolve, reject }: Waiting): Promise<boolean> {
    try {
      resolve(await post(request, answerBytesMax))
      return true
    } catch (error) {
      reject(error)
      return false
    }
  }

  return (request, answerBytesMax) => {
    if (ALONE.has(request.method)) return post(request, answerBytesMax)
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ request, answerBytesMax, resolve, reject })
    })
  }
}

/** A transaction, so that what became of it never depends on anything else; a search, because nobody should wait for its long answer. */
const ALONE: ReadonlySet<string> = new Set([SEND, 'eth_getLogs'])

/** A batch never is. */
function isSend(letter: RpcRequest | readonly RpcRequest[]): boolean {
  return 'method' in letter && letter.method === SEND
}

type Answer = { readonly id: unknown; readonly error?: { readonly message?: unknown } | null } | null

/** Anything but a list is one, and so is a list that complains of being one: "a batch of more than 3 is not allowed". */
function isRefusal(answers: unknown): boolean {
  if (!Array.isArray(answers)) return true
  return answers.some((answer: Answer) => /batch/i.test(String(answer?.error?.message ?? '')))
}

/** Something answered, and not in JSON, or with a status of trouble. */
export class OddAnswer extends Error {}

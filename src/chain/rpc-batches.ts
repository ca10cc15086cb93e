import { type RpcRequest, type RpcTransport, TooLarge } from './transport.ts'

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

const SEND = 'eth_sendRawTransaction'

/** A transaction, so that what became of it never depends on anything else; a search, because nobody should wait for its long answer. */
const ALONE: ReadonlySet<string> = new Set([SEND, 'eth_getLogs'])

/** A batch never is. */
export function isSend(letter: RpcRequest | readonly RpcRequest[]): boolean {
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

import { fetchWithin } from '../bounded-fetch.ts'
import { FoundTrouble } from './finding.ts'

/** The running shop as a stranger visits it, once. */
export type Visit = {
  readonly url: string
  /** What is only read is read once, whoever asks: the doctor must not use up the allowance that it looks at. */
  ask(path: string, init?: RequestInit): Promise<Response>
  json<Answer>(path: string): Promise<Answer>
}

/** A shop on a busy machine is slow and not ill: its longest documents are made when somebody asks first. */
const ANSWER_MS_MAX = 30_000

export function visitTo(url: string): Visit {
  const fetchIt = fetchWithin(ANSWER_MS_MAX)
  const read = new Map<string, Promise<Response>>()

  async function ask(path: string, init?: RequestInit): Promise<Response> {
    const answer = init ? fetchIt(url + path, init) : (read.get(path) ?? fetchIt(url + path))
    if (!init) read.set(path, answer)
    const response = await answer
    // Not a fault of the shop: somebody at this address asks a lot, and it may have been us.
    if (response.status === 429)
      throw new FoundTrouble('warn', 'It was asked too much in the last minute.', 'Wait a minute, then ask again.')
    return response.clone()
  }

  return {
    url,
    ask,
    async json(path) {
      const response = await ask(path)
      const type = response.headers.get('content-type') ?? ''
      if (!response.ok) throw new Error(`${url}${path} answers ${response.status}.`)
      if (!/json/.test(type)) throw new Error(`${url}${path} says it is ${type}, not JSON.`)
      return await response.json()
    },
  }
}

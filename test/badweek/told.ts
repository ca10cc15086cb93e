import { readFileSync } from 'node:fs'
import type { BadWorld } from './world.ts'

/** What an operator hears, and when: by health, log and events. */
export type Told = { readonly at: number; readonly words: string }

const LOOK_MS = 200
/** Every purchase has its own; these tell that something begins. */
const TELLING = /\.(down|paused|low|needed)$|^payment\.held$/
/** Said of single orders, whatever goes wrong; and of servers that do not sync, as those of tests. */
const USUAL = /order|lease|reconciliation|webhook|clock|idle database|power cut/

/** Looks at everything that the shop says of itself, until told to stop. */
export function listen(world: BadWorld) {
  const told: Told[] = []
  let isOver = false
  let position: string | null = null
  /** What is read again was heard before. */
  let isBehind = true
  /** When the last look began that found everything well. */
  let wellAt = 0
  const read = world.replicas.map(() => 0)
  const say = (words: string) => {
    told.push({ at: performance.now(), words })
  }

  function readLogs(): void {
    for (const [n, { logFile }] of world.replicas.entries()) {
      const text = readFileSync(logFile, { encoding: 'utf8', flag: 'a+' })
      for (const line of text.slice(read[n]).split('\n').slice(0, -1)) {
        const { level, message, error, code } = JSON.parse(line) as {
          level: string
          message: string
          code?: string
          error?: { message: string }
        }
        if (level !== 'error' && level !== 'warn') continue
        const isFull = /disk of the store is full/.test(JSON.stringify(error ?? ''))
        if (isFull) say('log The disk of the store is full')
        else if (!USUAL.test(message) || /^idle database/.test(message)) say(`log ${message}${code ? `: ${code}` : ''}`)
      }
      read[n] = text.lastIndexOf('\n') + 1
    }
  }

  async function readHealth(): Promise<void> {
    const begun = performance.now()
    const answers = await Promise.all(world.replicas.map(({ url }, n) => healthOf(url, `replica ${n + 1}`)))
    const front = await healthOf(world.proxy.url(), 'the proxy')
    for (const words of new Set([...answers.flat(), ...front.filter((words) => /proxy/.test(words))]))
      say(`health ${words}`)
    if ([...answers, front].every((words) => words.length === 0)) wellAt = begun
  }

  async function readEvents(): Promise<void> {
    const asked = await world
      .operator(`/events?limit=100${position === null ? '' : `&after=${position}`}`)
      .catch(() => null)
    // A store that has forgotten its last events counts on from an earlier one.
    if (asked?.status === 400) {
      position = '0'
      isBehind = true
    }
    if (!asked?.ok) return
    const page = (await asked.json()) as {
      events: { type: string; data: { about?: string } }[]
      next: string
      hasMore: boolean
    }
    position = page.next
    for (const { type, data } of isBehind ? [] : page.events)
      if (TELLING.test(type)) say(`event ${type}${data.about ? ` (${data.about})` : ''}`)
    isBehind &&= page.hasMore
  }

  // Whoever is slow to answer keeps nobody else waiting.
  async function again(look: () => void | Promise<void>): Promise<void> {
    while (!isOver) {
      await Promise.resolve(look()).catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  }
  const looping = [readLogs, readHealth, readEvents].map(again)
  return {
    told,
    /** Has a look that began after this moment found everything well? */
    isWellSince: (moment: number) => wellAt > moment,
    async stop() {
      isOver = true
      await Promise.all(looping)
    },
  }
}

/** What is amiss, by the checks that failed; nothing when all is well. */
async function healthOf(url: string, name: string): Promise<readonly string[]> {
  const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(6_000) }).catch(() => null)
  if (response === null) return [`${name} does not answer`]
  const body = (await response.json().catch(() => null)) as { checks?: { name: string; status: string }[] } | null
  if (!body?.checks) return [`${name} does not answer`]
  return body.checks.filter(({ status }) => status === 'fail').map(({ name: check }) => check)
}

import { type Json, stringify } from '../../base/json.ts'
import { once } from '../../base/once.ts'
import { declaredRails, type Rail } from '../../domain/rail.ts'
import { shipped } from './shipped.ts'

/** By operation (`GET /catalog`) and status. */
export type Answers = Readonly<Record<string, Readonly<Record<string, Json>>>>

/** Refusals look the same wherever they come from, so each status has one example for all. */
export const ANY_OPERATION = '*'
/** Which origin the run is told to have had. */
const EXAMPLE_ORIGIN = 'https://shop.example'

const text = once(() => shipped('answers.json'))

/** What a sandbox answered when `npm run docs` asked it everything, as this host would say it. */
export function answersAt(origin: string): Answers {
  return JSON.parse(text().replaceAll(EXAMPLE_ORIGIN, origin)) as Answers
}

/** The run was of a shop that takes every protocol. What says a word of one that this shop does not take is not shown here. */
export function answersHere(origin: string, rails: readonly Pick<Rail, 'name' | 'network'>[]): Answers {
  const answers = answersAt(origin)
  const absent = declaredRails().filter(({ name }) => !rails.some((rail) => rail.name === name))
  if (absent.length === 0) return answers
  const names = new RegExp(`\\b(?:${absent.map(({ name }) => name).join('|')})`, 'i')
  const isTrue = (example: Json) => {
    const told = stringify(example)
    const networks = told.match(/\b[a-z0-9]{3,8}:\d+\b/g) ?? []
    return !names.test(told) && networks.every((network) => rails.some((rail) => rail.network === network))
  }
  const shown = Object.entries(answers).map(([operation, byStatus]) => [
    operation,
    Object.fromEntries(Object.entries(byStatus).filter(([, example]) => isTrue(example))),
  ])
  return Object.fromEntries(shown) as Answers
}

/** As a member of a media type; nothing where that operation was not there to be asked. */
export function exampleOf(answers: Answers, operation: string, status: number | string): { readonly example?: Json } {
  const example = answers[operation]?.[status]
  return example === undefined ? {} : { example }
}

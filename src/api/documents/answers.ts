import type { Json } from '../../base/json.ts'
import { once } from '../../base/once.ts'
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

/** As a member of a media type; nothing where that operation was not there to be asked. */
export function exampleOf(answers: Answers, operation: string, status: number | string): { readonly example?: Json } {
  const example = answers[operation]?.[status]
  return example === undefined ? {} : { example }
}

import { newId, type Random } from '../../base/id.ts'
import { adviceOf, type Problem } from '../../base/problem.ts'
import { problemBody } from '../http/problem-body.ts'
import { type ToolResult, text } from './server.ts'

/** Where a machine finds the problem that the text tells of. Not in `structuredContent`: clients check that against the output schema. */
const PROBLEM_META = 'sutler/problem'

export type ProblemResults = (problem: Problem) => ToolResult

export function createProblemResults(errorsUrl: string, random: Random): ProblemResults {
  return (problem) => ({
    content: [text(problemText(problem))],
    isError: true,
    _meta: {
      [PROBLEM_META]: problemBody(problem, { requestId: newId('req', random), errorsUrl }),
    },
  })
}

const ERRORS_SHOWN = 5

/** In words that a model can act on: what is wrong, where, what to do now, and what became of the money. */
function problemText({ kind, code, message, extra }: Problem): string {
  const more = (extra.errors ?? [])
    .slice(1, ERRORS_SHOWN)
    .map(({ pointer, detail }) => ` ${pointer}: ${sentence(detail)}`)
  return `${kind.title} (${code}). ${sentence(message)}${more.join('')} ${adviceOf(kind, extra.taken)}`
}

function sentence(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`
}

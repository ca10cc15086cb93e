import type { Fact } from '../../setup/verify.ts'
import type { Terminal } from '../terminal.ts'

export function factsText(facts: readonly Fact[], { style, table }: Terminal): string {
  return table(
    facts.map(({ what, isRight, detail }) => [isRight ? style.green('ok   ') : style.red('WRONG'), what, detail]),
  )
}

export function factsJson(facts: readonly Fact[]) {
  return facts.map(({ what, isRight, detail }) => ({ what, isRight, detail }))
}

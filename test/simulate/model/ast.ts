import { loadModule, type Node, parseSync, type TypeName } from 'libpg-query'
import { INTERVAL, type Kind, kindNamed, listOf } from './kinds.ts'
import { raised, Unsupported } from './raised.ts'

/** The parser is PostgreSQL's own, compiled; it is loaded once. */
export const parserLoaded = loadModule

export function statementsIn(text: string): readonly Node[] {
  try {
    return (parseSync(text).stmts ?? []).map(({ stmt }) => stmt!)
  } catch (error) {
    throw raised('42601', (error as Error).message)
  }
}

export function wordOf(node: Node | undefined): string {
  if (node && 'String' in node) return node.String.sval ?? ''
  throw new Unsupported('a name of this form', node)
}

export const wordsOf = (nodes: readonly Node[] | undefined) => (nodes ?? []).map(wordOf)

/** Names of built-in functions and operators, without their schema. */
export const lastWord = (nodes: readonly Node[] | undefined) => wordsOf(nodes).at(-1) ?? ''

export type Typed = { readonly kind: Kind; readonly scale: number | null }

export function typeOf(type: TypeName | undefined): Typed {
  const name = lastWord(type?.names)
  const typmods = type?.typmods ?? []
  const kind = kindNamed(name === 'timestamp' ? 'timestamp' : name)
  if (typmods.length > 0 && name !== 'numeric' && kind !== INTERVAL) throw new Unsupported('a bound of this type', type)
  const scale = name === 'numeric' && typmods.length === 2 ? integerOf(typmods[1]!) : null
  return { kind: type?.arrayBounds ? listOf(kind) : kind, scale: type?.arrayBounds ? null : scale }
}

export function integerOf(node: Node): number {
  if ('A_Const' in node && node.A_Const.ival) return node.A_Const.ival.ival ?? 0
  throw new Unsupported('anything but a whole number here', node)
}

/** The text of an expression without the places where it stood: two that say the same are the same. */
export function spelled(node: Node | null | undefined): string {
  return JSON.stringify(node ?? null, (key, value) =>
    key === 'location' || /^(rexpr_list|list)_/.test(key) ? undefined : value,
  )
}

/** Names of all columns that an expression mentions. */
export function columnsIn(node: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(node)) for (const one of node) columnsIn(one, found)
  else if (node !== null && typeof node === 'object') {
    if ('ColumnRef' in node) found.add(lastWord((node as { ColumnRef: { fields: Node[] } }).ColumnRef.fields))
    else for (const one of Object.values(node)) columnsIn(one, found)
  }
  return found
}

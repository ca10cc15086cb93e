import { mayAct, type Operator } from '../../domain/operator.ts'

/** Of an address of a receiver: who it is, without the path and the query, which are often all that protects it. */
export function receiverHost(url: string): string {
  const { origin, pathname, search } = URL.parse(url) ?? { origin: '…', pathname: '/', search: '' }
  return pathname === '/' && search === '' ? origin : `${origin}/…`
}

/** Whole for whoever may change it; for all others who it is. */
export function receiverUrl({ role }: Pick<Operator, 'role'>, url: string): string {
  return mayAct(role, 'admin') ? url : receiverHost(url)
}

import { stringify } from '../base/json.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** What something on a shelf is called, as its shelf last said: lots have their names on the chain, items perhaps at a game of its own. */
export type ShelfName = { readonly surface: string; readonly id: string; readonly name: string }

/** By surface and id. */
export type ShelfNames = (surface: string, id: string) => string | null

const RECORD = statement(`
  insert into shelf_names (surface, id, name)
  select surface, id, name
  from jsonb_to_recordset($1::jsonb) as s (surface text, id text, name text)
  order by surface, id
  on conflict (surface, id) do update
  set name = excluded.name
  where shelf_names.name <> excluded.name`)

export async function recordShelfNames(queryable: Queryable, names: readonly ShelfName[]): Promise<void> {
  if (names.length > 0) await queryable.query(RECORD, [stringify(names)])
}

const FIND = statement<ShelfName>(`
  select n.surface, n.id, n.name
  from jsonb_to_recordset($1::jsonb) as asked (surface text, id text)
  join shelf_names n
    on n.surface = asked.surface
   and n.id = asked.id`)

type Asked = { readonly surface: string; readonly id: string }

export async function readShelfNames(queryable: Queryable, asked: readonly Asked[]): Promise<ShelfNames> {
  const wanted = new Map(asked.map(({ surface, id }) => [`${surface} ${id}`, { surface, id }]))
  if (wanted.size === 0) return () => null
  const { rows } = await queryable.query(FIND, [stringify([...wanted.values()])])
  const names = new Map(rows.map(({ surface, id, name }) => [`${surface} ${id}`, name]))
  return (surface, id) => names.get(`${surface} ${id}`) ?? null
}

const SEARCH = statement<ShelfName>(`
  select surface, id, name
  from shelf_names
  where id = $1
     or lower(name) like lower($2) || '%'
  order by surface, id
  limit $3`)

/** By id, or by how the name begins. */
export async function searchShelf(queryable: Queryable, text: string, limit: number): Promise<readonly ShelfName[]> {
  return (await queryable.query(SEARCH, [text, text.replaceAll(/[\\%_]/g, '\\$&'), limit])).rows
}

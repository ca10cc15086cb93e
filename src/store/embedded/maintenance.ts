import type { Engine } from './engine.ts'

const WAL_BYTES_MAX = 48_000_000

type Need = { readonly wal_bytes: string; readonly bloated: readonly string[]; readonly changed: readonly string[] }

/**
 * What a PostgreSQL server does in the background and a single session never does: checkpoints, without which the log grows
 * for ever; vacuum, without which dead rows do; and statistics, without which plans stay those of an empty shop. A table is
 * due at 1000 dead rows and a fifth of the live ones, or at 1000 changes and a tenth.
 */
export async function maintain(engine: Engine): Promise<void> {
  const [need] = await engine.rows<Need>(`
    select (pg_current_wal_lsn() - redo_lsn)::bigint::text as wal_bytes,
           array(
             select relid::regclass::text
             from pg_stat_user_tables
             where n_dead_tup > 1000 + n_live_tup / 5
           ) as bloated,
           array(
             select relid::regclass::text
             from pg_stat_user_tables
             where n_mod_since_analyze > 1000 + n_live_tup / 10
               and n_dead_tup <= 1000 + n_live_tup / 5
           ) as changed
    from pg_control_checkpoint()`)
  for (const table of need!.bloated) await engine.run(`vacuum (analyze) ${table}`)
  for (const table of need!.changed) await engine.run(`analyze ${table}`)
  if (Number(need!.wal_bytes) > WAL_BYTES_MAX) await engine.run('checkpoint')
}

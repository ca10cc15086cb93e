-- Which history this store is part of: the server, its timeline, the database. A standby that is promoted begins another timeline, and so does a
-- server that was restored to a moment; a database that was put in the place of another has another number. Null where the server does not say.
create function store_lineage() returns text
language plpgsql
as $$
begin
  return (select system_identifier from pg_control_system())
    || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
    || '/' || (select oid from pg_database where datname = current_database());
exception
  when insufficient_privilege or undefined_function or feature_not_supported then
    return null;
end
$$;

-- Who sells, and which history each of them has held its memory against. When the lineage changes, those who know what they wrote say whether it
-- is there; for whoever is gone, nobody can.
create table witnesses (
  id      text primary key,
  lineage text not null,
  -- Something that it had written is missing.
  lost    boolean not null,
  seen_at timestamptz not null
);

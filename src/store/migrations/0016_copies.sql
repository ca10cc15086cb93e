-- When the rows of this store were written: by the transaction that wrote the first row it ever had. It stays the same through crashes, restarts,
-- vacuum and promoted standbys; a dump that is put back, or a copy made row by row, writes that row anew. Where the server tells, it is named too,
-- because a new server begins to count its transactions at the same number as any other.
create function store_birth() returns text
language sql
stable
as $$
  select coalesce(split_part(store_lineage(), '/', 1) || '/' || split_part(store_lineage(), '/', 3) || '/', '') || xmin
  from schema_migrations
  order by name
  limit 1
$$;

-- In which copy of the store the books of this till were last held against the chain. In any other, money without an order may have been spent.
-- Null: from before it was written down.
alter table tills add column birth text;

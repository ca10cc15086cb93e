-- Where a delivery or a refund was mined when its success was used. It is watched until it lies so deep that no chain drops it.
alter table sends
  add column landed_hash       text,
  add column landed_block      bigint,
  add column landed_block_hash text,
  add column buried            boolean not null default false,
  add check (num_nonnulls(landed_hash, landed_block, landed_block_hash) in (0, 3));
create index sends_watched on sends (chain_id, landed_block) where landed_block is not null and not buried;

-- How often a caller came in one window, over all replicas. Unlogged: a crash may forget it, and it costs no write to the log.
create unlogged table rate_counters (
  name         text        not null,
  window_id    bigint      not null,
  hits         bigint      not null,
  forget_after timestamptz not null,
  primary key (name, window_id)
);
create index rate_counters_forget_after on rate_counters (forget_after);

-- What the maker of a personal token calls it: who looks at a list of them must be able to tell them apart. `used_at` of one that is not a link is when
-- it was last used, to the minute.
alter table operator_tokens add column name text not null default '';

-- How a session began, and with which link or token: when that is revoked, so is what it let in. Empty for those that began before.
alter table operator_sessions
  add column began_with text not null default '',
  add column token_id text;

-- Play money or real: one store never holds both. Written at a start, and never changed.
create table store_mode (
  id         boolean primary key default true check (id),
  mode       text not null check (mode in ('sandbox', 'production')),
  stamped_at timestamptz not null default now()
);

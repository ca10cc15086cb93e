-- What is wrong now, over all replicas: one row from its begin to its end, and an event for each of both.
create table troubles (
  id       text primary key,
  kind     text not null,
  about    text not null,
  detail   text not null,
  began_at timestamptz not null,
  -- When a replica last saw it. It is over when none has for a while.
  seen_at  timestamptz not null,
  ended_at timestamptz
);
create unique index troubles_open on troubles (kind, about) where ended_at is null;
create index troubles_ended on troubles (ended_at) where ended_at is not null;

-- How far the log of events has been forgotten, and what was sent to an endpoint. Whoever asks for more is told.
alter table event_tail add column forgotten bigint not null default 0;
alter table webhook_endpoints add column forgotten bigint not null default 0;

-- What was exported, and how far the bodies of orders have been let go of.
create table retention (
  id             boolean primary key default true check (id),
  exported_as_of timestamptz,
  exported_at    timestamptz,
  bodies_at      timestamptz,
  bodies_id      text
);

-- The name of a payment outlives what it named: an order that was never paid, or money that was sent back.
alter table payment_identities
  drop constraint payment_identities_arrival_id_fkey,
  drop constraint payment_identities_check,
  add check (num_nonnulls(order_id, arrival_id) <= 1);
create index payment_identities_order on payment_identities (order_id) where order_id is not null;

-- Rows are deleted by whoever knows that nothing needs them; a look at every child for every row would read whole tables.
alter table webhook_deliveries drop constraint webhook_deliveries_event_id_fkey;
alter table arrivals drop constraint arrivals_order_id_fkey;

create index orders_expired on orders (updated_at) where status = 'expired';
create index arrivals_final on arrivals (updated_at)
  where state in ('matched', 'own', 'dust', 'kept', 'refunded', 'dropped');

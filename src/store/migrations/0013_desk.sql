-- What the people who run the shop look at. Sums are kept as orders move: nobody adds up a million of them to draw a chart.

-- Each step of each order, until it is added to the sums. An insert waits for nobody; a row of sums that every order wrote to would be
-- waited for by all of them.
create table order_moves (
  id       bigint generated always as identity primary key,
  status   text not null,
  moved_at timestamptz not null,
  -- From the payment to the goods, where this step is the goods.
  took_ms  bigint,
  rail     text not null,
  network  text not null,
  asset    text not null,
  surface  text not null,
  good     text not null,
  item     text not null,
  amount   numeric(78, 0) not null
);

-- By hour and by day (UTC) of when it happened, and by day for each thing that was sold. What came in and what went back are both of the day
-- on which they moved, as on the chain.
create table order_sums (
  span      text not null check (span in ('hour', 'day', 'item')),
  at        timestamptz not null,
  rail      text not null,
  network   text not null,
  asset     text not null,
  surface   text not null,
  good      text not null,
  item      text not null,
  opened    bigint not null default 0,
  settled   bigint not null default 0,
  gross     numeric not null default 0,
  delivered bigint not null default 0,
  failed    bigint not null default 0,
  expired   bigint not null default 0,
  refunded  bigint not null default 0,
  returned  numeric not null default 0,
  primary key (span, at, rail, network, asset, surface, good, item)
);

-- How long buyers waited, by hour: four steps for each doubling of the time.
create table delivery_times (
  at      timestamptz not null,
  rail    text not null,
  surface text not null,
  step    integer not null,
  orders  bigint not null,
  primary key (at, rail, surface, step)
);

-- By a trigger and not by the statements of the shop: a replica of the version before, still running while this one starts, is counted too.
create function note_order_move() returns trigger language plpgsql as $$
begin
  insert into order_moves (status, moved_at, took_ms, rail, network, asset, surface, good, item, amount)
  values (
    new.status,
    case when tg_op = 'INSERT' then new.created_at else new.updated_at end,
    case when new.status = 'confirmed' then greatest(0, extract(epoch from new.updated_at - new.created_at) * 1000)::bigint end,
    new.rail, new.network, new.asset, new.surface, new.good,
    coalesce(new.input ->> 'itemId', new.input ->> 'saleId', ''),
    new.amount);
  return null;
end
$$;

-- A copy brings the sums along.
create trigger orders_opened
  after insert on orders
  for each row
  when (coalesce(current_setting('sutler.copying', true), '') <> 'on')
  execute function note_order_move();
create trigger orders_moved
  after update of status on orders
  for each row
  when (old.status is distinct from new.status)
  execute function note_order_move();

-- What was sold until now. The triggers above hold off whoever writes orders until this is through.
insert into order_moves (status, moved_at, took_ms, rail, network, asset, surface, good, item, amount)
select h.status, h.at,
       case when h.status = 'confirmed' then greatest(0, extract(epoch from h.at - o.created_at) * 1000)::bigint end,
       o.rail, o.network, o.asset, o.surface, o.good,
       coalesce(o.input ->> 'itemId', o.input ->> 'saleId', ''), o.amount
from orders o
cross join lateral jsonb_to_recordset(o.history) as h (status text, at timestamptz);

-- What things are called that have their names elsewhere: on the chain, at the game.
create table shelf_names (
  surface text not null,
  id      text not null,
  name    text not null,
  primary key (surface, id)
);

-- Who was asked to pay, and who was refused, by all replicas, by hour and by day.
create table funnel_counts (
  span    text not null check (span in ('hour', 'day')),
  at      timestamptz not null,
  surface text not null,
  rail    text not null,
  code    text not null,
  asked   bigint not null,
  -- What one of them was told.
  example text,
  primary key (span, at, surface, rail, code)
);

-- What operators write beside an order.
create table order_notes (
  id       text primary key,
  order_id text not null,
  author   text not null,
  text     text not null,
  at       timestamptz not null
);
create index order_notes_order on order_notes (order_id, at, id);

-- Rails on which nothing is sold because somebody said so. Until null: until somebody says otherwise.
create table sales_pauses (
  rail     text primary key,
  reason   text not null,
  author   text not null,
  since    timestamptz not null,
  until_at timestamptz
);

-- Payers that nothing is sold to, in lower case, beside those of the configuration.
create table blocked_payers (
  address text primary key,
  reason  text not null,
  author  text not null,
  at      timestamptz not null
);
create index blocked_payers_at on blocked_payers (at desc, address desc);

-- A refund that is asked for twice under one key is one refund.
alter table refunds add column asked_by_key text;

-- What the last look at a till found.
alter table tills
  add column difference  numeric,
  add column seen_block  bigint,
  add column reported_at timestamptz;

-- What our wallets had when a replica last could see it, and what left them.
create table wallets (
  chain_id bigint not null,
  address  text not null,
  unit     text not null check (unit in ('wei', 'token')),
  role     text not null,
  amount   numeric not null,
  is_low   boolean not null,
  -- What it may do on its chain, where that was asked.
  rights   jsonb not null,
  since    timestamptz not null,
  read_at  timestamptz not null,
  primary key (chain_id, address, unit, role)
);
create table wallet_use (
  chain_id bigint not null,
  address  text not null,
  unit     text not null,
  at       timestamptz not null,
  used     numeric not null,
  primary key (chain_id, address, unit, at)
);

-- Processes that work on this store, as they last said of themselves.
create table replicas (
  id         text primary key,
  version    text not null,
  started_at timestamptz not null,
  seen_at    timestamptz not null,
  facts      jsonb not null
);

-- The log, newest first, of one type or about one thing.
create index events_type on events (type, position desc) where position is not null;
-- Purchases of one thing, newest first.
create index orders_item on orders ((coalesce(input ->> 'itemId', input ->> 'saleId')), created_at desc, id desc);
-- Purchases of one flow, and refunds that wait.
create index orders_flow on orders (flow_id, created_at desc);
create index refunds_open on refunds (created_at) where completed_at is null;
create index webhook_deliveries_dead on webhook_deliveries (endpoint_id, updated_at) where state = 'dead';
create index webhook_deliveries_state on webhook_deliveries (endpoint_id, state, position desc) where state <> 'delivered';
create index players_nickname on players (lower(nickname) text_pattern_ops, id);
create index players_created on players (created_at, id);

-- Where the event log ends. The one row is made with the first event, and whoever appends to the log holds its lock.
create table event_tail (
  id       boolean primary key default true check (id),
  position bigint not null
);

create table webhook_endpoints (
  id              text primary key,
  url             text not null,
  description     text not null default '',
  -- Null: every type.
  event_types     text[],
  state           text not null default 'enabled' check (state in ('enabled', 'disabled')),
  state_reason    text,
  secret          text not null,
  -- During a rotation both secrets sign, until the old one has run out.
  previous_secret text,
  previous_until  timestamptz,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now()
);

-- One row per event and endpoint, ever. What is pending is sent in the order of `position`, one at a time for each subject.
create table webhook_deliveries (
  endpoint_id text not null references webhook_endpoints (id) on delete cascade,
  event_id    bigint not null references events (id),
  position    bigint not null,
  subject     text not null,
  state       text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  attempts    integer not null default 0,
  -- What the receiver answered, newest last.
  answers     jsonb not null default '[]',
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now(),
  primary key (endpoint_id, event_id)
);
create index webhook_deliveries_open on webhook_deliveries (endpoint_id, subject, position) where state <> 'delivered';
create index webhook_deliveries_log on webhook_deliveries (endpoint_id, position);

-- One asset at one address of ours: how far its transfers have been read, and when somebody last looked.
create table tills (
  id            text primary key,
  -- What was there before the shop opened is none of its business.
  first_block   bigint not null,
  checked_block bigint not null,
  alive_at      timestamptz not null default now(),
  created_at    timestamptz not null default now()
);

-- Every transfer that ever reached a till, as the chain shows it, and what became of it.
create table arrivals (
  id           text primary key,
  till         text not null references tills (id),
  transaction  text not null,
  log_index    integer not null,
  block_number bigint not null,
  sender       text not null,
  amount       numeric(78, 0) not null check (amount > 0),
  state        text not null
    check (state in ('unclaimed', 'matched', 'own', 'orphaned', 'held', 'kept', 'refunding', 'refunded', 'dropped')),
  reason       text,
  order_id     text references orders (id),
  refund_tx    text,
  decided_by   text,
  sequence     integer not null default 0,
  found_at     timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  unique (till, transaction, log_index)
);
-- One transfer pays one order.
create unique index arrivals_order on arrivals (order_id) where state = 'matched';
create index arrivals_open on arrivals (till, found_at) where state in ('unclaimed', 'orphaned', 'held', 'refunding');
create index arrivals_block on arrivals (till, block_number);
create index arrivals_transaction on arrivals (transaction);

-- Money that was sent back without ever buying anything must not buy afterwards: its name is taken like that of any payment.
alter table payment_identities
  alter column order_id drop not null,
  add column arrival_id text references arrivals (id),
  add check (num_nonnulls(order_id, arrival_id) = 1);

-- Orders whose payment the chain no longer shows.
create table missing_settlements (
  order_id   text primary key references orders (id),
  till       text not null references tills (id),
  state      text not null check (state in ('open', 'landed', 'lost')),
  detail     text not null,
  found_at   timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index missing_settlements_open on missing_settlements (till) where state <> 'landed';

create index orders_settled on orders (settled_at) where settled_at is not null;

-- One row per purchase. Money is numeric(78,0): atomic units up to a uint256.
create table orders (
  id                 text primary key,
  flow_id            text not null,
  surface            text not null,
  good               text not null,
  rail               text not null,
  status             text not null
    check (status in ('settling', 'settled', 'submitted', 'confirmed', 'failed', 'refunding', 'refunded', 'expired')),
  funds              text not null check (funds in ('authorized', 'captured')),
  -- What was asked, with its defaults; equal digests are equal requests.
  request_digest     text not null,
  input              jsonb not null,
  -- What check() decided before money moved. Null only for money that moved before we heard of it.
  plan               jsonb,
  objection          jsonb,
  payer              text not null,
  amount             numeric(78, 0) not null check (amount > 0),
  asset              text not null,
  network            text not null,
  pay_to             text not null,
  proof_digest       text not null,
  idempotency_key    text,
  -- What settle() needs. Wiped by the statement that leaves 'settling'.
  authorization_data jsonb,
  expires_at         timestamptz not null,
  in_doubt           boolean not null default false,
  payment_tx         text,
  settled_at         timestamptz,
  delivery_tx        text,
  result             jsonb,
  failure            jsonb,
  -- The final answer, replayed byte for byte.
  answer_status      integer,
  answer_headers     jsonb,
  answer_body        text,
  -- The signed delivery receipt. A second signature would be other bytes, so it is made once and kept.
  receipt            text,
  attempts           integer not null default 0,
  sequence           integer not null default 1,
  history            jsonb not null,
  created_at         timestamptz not null default now(),
  updated_at         timestamptz not null default now(),
  check (status in ('settling', 'expired') or payment_tx is not null),
  check (status = 'settling' or authorization_data is null)
);

-- A key names one request of one payer. An expired order took nothing, so its key is free again.
create unique index orders_idempotency on orders (payer, idempotency_key) where idempotency_key is not null and status <> 'expired';
create index orders_unsettled on orders (payer, request_digest) where status = 'settling';
create index orders_payment_tx on orders (payment_tx) where payment_tx is not null;
create index orders_idempotency_key on orders (idempotency_key) where idempotency_key is not null;
create index orders_created on orders (created_at desc);
create index orders_open on orders (status, created_at) where status not in ('confirmed', 'refunded', 'expired');

-- Who a payment is, for ever: never deleted, so no payment buys twice. The handle is the part that a payer knows it by.
create table payment_identities (
  identity text primary key,
  handle   text not null,
  order_id text not null references orders (id)
);
create index payment_identities_handle on payment_identities (handle);

-- Scarce things set aside. The total is what the limit is held against. The version grows by whatever is given back, so that a limit
-- which was read earlier can be held against all that was set aside at that time.
create table hold_totals (
  resource text primary key,
  held     numeric(78, 0) not null default 0 check (held >= 0),
  version  numeric not null default 0
);
create table holds (
  order_id    text not null references orders (id),
  resource    text not null references hold_totals (resource),
  quantity    numeric(78, 0) not null check (quantity > 0),
  kept        boolean not null,
  released_at timestamptz,
  primary key (order_id, resource)
);
create index holds_open on holds (resource) where released_at is null;

-- One refund per payment, in full, to the payer.
create table refunds (
  id           text primary key,
  order_id     text not null unique references orders (id),
  amount       numeric(78, 0) not null check (amount > 0),
  recipient    text not null,
  reason       text not null,
  requested_by text not null,
  transaction  text,
  created_at   timestamptz not null default now(),
  completed_at timestamptz
);

-- Every state change writes exactly one. Its place in the log is given afterwards, to rows that everybody can see: ids are handed out
-- before their rows become visible, and a reader who goes by them skips whatever is committed late.
create table events (
  id         bigint generated always as identity primary key,
  position   bigint unique,
  subject    text not null,
  sequence   integer not null,
  type       text not null,
  data       jsonb not null,
  created_at timestamptz not null default now(),
  unique (subject, sequence)
);
create index events_unplaced on events (id) where position is null;

-- Signed bytes before they leave the process: one row per nonce of a key, every version ever signed for it.
create table sends (
  chain_id   bigint not null,
  signer     text not null,
  nonce      bigint not null check (nonce >= 0),
  order_id   text not null,
  step       text not null,
  call       jsonb not null,
  versions   jsonb not null,
  created_at timestamptz not null default now(),
  primary key (chain_id, signer, nonce)
);
create unique index sends_step on sends (order_id, step, chain_id, signer);

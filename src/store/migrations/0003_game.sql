-- The embedded game: players, what the shop has for them, and what they were given. A studio with a backend of its own leaves it empty.
create table players (
  id         text primary key,
  -- In Unicode's composed form, compared exactly: two names that only look alike are two players.
  nickname   text not null unique,
  level      integer not null default 1 check (level > 0),
  -- A test player: deliveries to it are refused, late, or fail before they succeed, so that anybody can rehearse what happens then.
  rehearses  text check (rehearses in ('refusal', 'delay', 'stumble')),
  created_at timestamptz not null default now()
);

-- Addresses are in lower case. A wallet belongs to one player; a player may have several.
create table player_wallets (
  address   text primary key,
  player_id text not null references players (id),
  linked_at timestamptz not null default now()
);
create index player_wallets_player on player_wallets (player_id);

-- Prices are in millionths of a dollar. What is left and what was delivered change together, so their sum is the supply.
create table items (
  id               text primary key,
  name             text not null,
  description      text not null,
  price            numeric(78, 0) not null check (price > 0),
  stock            bigint check (stock >= 0),
  delivered        bigint not null default 0 check (delivered >= 0),
  limit_per_player integer check (limit_per_player > 0),
  level_min        integer not null default 1 check (level_min > 0),
  position         integer not null default 0
);

create table discounts (
  player_id    text not null references players (id),
  item_id      text not null references items (id),
  basis_points integer not null check (basis_points between 1 and 9999),
  primary key (player_id, item_id)
);

-- What players were given, only ever added to. The effect key is the order id: a second delivery of the same order cannot be written.
create table inventory_ledger (
  effect_key text primary key,
  player_id  text not null references players (id),
  item_id    text not null references items (id),
  quantity   bigint not null check (quantity > 0),
  granted_at timestamptz not null default now()
);
create index inventory_ledger_player on inventory_ledger (player_id, item_id);

-- Deliveries asked of a studio's own backend, written before the request leaves: whatever is in here may have been delivered.
create table game_calls (
  order_id   text primary key,
  sent_at    timestamptz not null,
  -- An operator's word, where the backend cannot say.
  verdict    text check (verdict in ('delivered', 'not_delivered')),
  decided_by text,
  check ((verdict is null) = (decided_by is null))
);

-- What was reported, once for each user and transaction. The chain's word is as it was when the report came.
create table reports (
  id            text primary key,
  user_id       text not null,
  tx_hash       text not null,
  payer         text not null,
  order_id      text not null unique references orders (id),
  chain_network text,
  chain_status  text check (chain_status in ('success', 'reverted')),
  recorded_at   timestamptz not null,
  constraint reports_user_tx unique (user_id, tx_hash),
  check ((chain_network is null) = (chain_status is null))
);

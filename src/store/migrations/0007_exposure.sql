-- What the shop asked money for, where, and under which name. Whoever paid by an earlier configuration did pay us.
create table shop_terms (
  rail       text not null,
  network    text not null,
  asset      text not null,
  pay_to     text not null,
  realm      text not null default '',
  currency   text not null,
  first_used timestamptz not null default now(),
  last_used  timestamptz not null default now(),
  primary key (rail, network, asset, pay_to, realm)
);

-- What a payer has promised on a network and not paid yet. One row for each, so that two replicas cannot both see room for the last order.
create table exposures (
  payer       text not null,
  network     text not null,
  open_orders integer not null check (open_orders >= 0),
  promised    numeric(78, 0) not null check (promised >= 0),
  primary key (payer, network)
)
with (fillfactor = 70);

insert into exposures (payer, network, open_orders, promised)
select payer, network, count(*), sum(amount)
from orders
where status = 'settling'
  and funds = 'authorized'
group by payer, network;

-- Whoever made us spend for nothing: a payer, the receiver of a token, the code of a wallet. Written only when we did spend.
create table strikes (
  subject text primary key,
  points  integer not null check (points > 0),
  until   timestamptz not null
);

-- Whoever has bought before is not held to account for what others do with the same code.
create index orders_bought on orders (payer) where status = 'confirmed';

-- What may have to be sent back, summed up before more is sold.
create index orders_liabilities on orders (network, asset) include (amount)
  where status in ('settling', 'settled', 'submitted', 'failed', 'refunding')
    and (status <> 'settling' or funds = 'captured' or plan is not null);
create index refunds_recipient on refunds (recipient, created_at);
create index refunds_created on refunds (created_at);

-- Orders that hold somebody's money go before those whose payment may never come.
alter table jobs add column priority smallint not null default 1;
drop index jobs_due;
create index jobs_due
  on jobs (kind, priority, run_at, id)
  where state = 'waiting';

-- When an arrival was last looked at, so that all get their turn; and whether it goes back without the usual wait. What waits for a person
-- is not work, and neither is dust.
alter table arrivals
  add column due_at timestamptz not null default now(),
  add column hastened boolean not null default false,
  drop constraint arrivals_state_check,
  add constraint arrivals_state_check
    check (state in ('unclaimed', 'matched', 'own', 'orphaned', 'held', 'kept', 'dust', 'refunding', 'refunded', 'dropped'));
create index arrivals_due on arrivals (till, due_at) where state in ('unclaimed', 'orphaned', 'refunding');

-- What an item cost before: a price that was quoted holds until the quote ends, whoever changed it and however.
create table item_prices (
  item_id     text not null,
  price       numeric(78, 0) not null,
  replaced_at timestamptz not null default now()
);
create index item_prices_item on item_prices (item_id, replaced_at);

create function keep_item_price() returns trigger language plpgsql as $$
begin
  insert into item_prices (item_id, price) values (old.id, old.price);
  return new;
end
$$;

create trigger items_price_changed
  before update of price on items
  for each row
  when (old.price is distinct from new.price)
  execute function keep_item_price();

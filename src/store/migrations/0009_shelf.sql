-- What a studio says of an item beside its price and its stock. A hidden item is neither listed nor sold; what was paid for is delivered
-- all the same.
alter table items
  add column picture   text,
  add column opens_at  timestamptz,
  add column closes_at timestamptz,
  add column hidden    boolean not null default false,
  add constraint items_window_check check (closes_at > opens_at);

-- When it was replaced, not when the transaction that replaced it began: an import may take a while.
alter table item_prices alter column replaced_at set default clock_timestamp();

-- A discount that was taken back holds for what was quoted under it, as a price does. Zero: there was none.
create table earlier_discounts (
  player_id    text not null,
  item_id      text not null,
  basis_points integer not null check (basis_points between 0 and 9999),
  replaced_at  timestamptz not null default clock_timestamp()
);
create index earlier_discounts_item on earlier_discounts (item_id, player_id, replaced_at);

-- Goods without a shelf (probes, look-ups, craft actions) have a price in the program. What an operator asks instead is here.
create table good_prices (
  good   text primary key,
  amount numeric(78, 0) not null check (amount > 0)
);
create table earlier_good_prices (
  good        text not null,
  amount      numeric(78, 0) not null,
  replaced_at timestamptz not null default clock_timestamp()
);
create index earlier_good_prices_good on earlier_good_prices (good, replaced_at);

create function keep_good_price() returns trigger language plpgsql as $$
begin
  insert into earlier_good_prices (good, amount) values (old.good, old.amount);
  return new;
end
$$;

create trigger good_prices_changed
  before update of amount on good_prices
  for each row
  when (old.amount is distinct from new.amount)
  execute function keep_good_price();

-- What the shop says of a lot of the sale contract. Null: what the contract says.
create table lot_notes (
  contract    text not null,
  sale_id     bigint not null,
  name        text,
  description text,
  picture     text,
  hidden      boolean not null default false,
  primary key (contract, sale_id)
);

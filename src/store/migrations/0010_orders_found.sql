-- Orders are found by whom they are of, what they are and how they stand, newest first, and each page goes on after the last order of the
-- page before it: time and id together, because many orders share a millisecond.
drop index orders_created;
create index orders_created on orders (created_at desc, id desc);
create index orders_status on orders (status, created_at desc, id desc);
create index orders_payer on orders (lower(payer), created_at desc, id desc);
-- The pairs are few, and are found by skipping through the index; so this serves rail, good and surface alike.
create index orders_kind on orders (rail, good, created_at desc, id desc);
-- Who gets it, as the request named them.
create index orders_player on orders (
  (coalesce(
    input ->> 'nickname',
    lower(input ->> 'address'),
    lower(input ->> 'payer'),
    lower(input ->> 'beneficiary'),
    lower(input ->> 'user'),
    input ->> 'userId')),
  created_at desc,
  id desc
);

-- What was tried for an order and came to nothing, oldest first; the same again is counted and not repeated.
alter table orders add column tries jsonb not null default '[]';

-- Money without a purchase, newest first.
create index arrivals_found on arrivals (state, found_at desc, id desc);
-- What was told of one order, wherever it was told.
create index webhook_deliveries_subject on webhook_deliveries (subject, position);
-- By the order that had given it up, and by the transaction that sent it back.
create index arrivals_late on arrivals (order_id) where order_id is not null and state <> 'matched';
create index arrivals_refund on arrivals (refund_tx) where refund_tx is not null;
create index arrivals_sender on arrivals (lower(sender), found_at desc);

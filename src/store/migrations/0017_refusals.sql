-- Promises to pay that were answered 402, and the requests that they were shown for. Whoever heard that may pay anew, so nobody takes the first
-- one for the same afterwards.
alter table payment_identities
  add column refusal text,
  add column refused_for text[],
  add column refused_at timestamptz,
  add check (
    num_nonnulls(refusal, refused_for, refused_at) in (0, 3)
    and (refused_at is null or num_nonnulls(order_id, arrival_id) = 0));
create index payment_identities_refused on payment_identities (refused_at) where refused_at is not null;

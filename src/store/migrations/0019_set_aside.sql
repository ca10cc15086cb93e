-- When the books of this till were last found to be behind the chain, and money without an order was set aside. What was asked for before then may
-- have bought something that this store has forgotten. Null: never.
alter table tills add column set_aside_at timestamptz;

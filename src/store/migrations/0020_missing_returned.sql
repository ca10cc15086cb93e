-- What brought money that has gone back without an order may vanish from the chain as well. Then `order_id` names the arrival, as it does in `sends`.
alter table missing_settlements drop constraint missing_settlements_order_id_fkey;

-- Every key that the shop ever started with, by what it was for: what a key did that was replaced since is still ours. `counted` is how many
-- transactions of it the chain had counted when the books were last held against it; null: nobody has looked. What was sent before `let_go`
-- was written down, and deleted when its time was over.
create table signing_keys (
  chain_id  bigint not null,
  role      text not null,
  signer    text not null,
  counted   bigint check (counted >= 0),
  let_go    bigint not null default 0 check (let_go >= 0),
  last_used timestamptz not null default now(),
  primary key (chain_id, role, signer)
);

insert into signing_keys (chain_id, role, signer, last_used, let_go)
select chain_id,
       case split_part(step, '.', 1)
         when 'settle' then 'settler'
         when 'refund' then 'treasury'
         when 'mint' then 'minter'
         when 'craft' then 'crafter'
         else 'other'
       end,
       signer,
       max(created_at),
       (select min(s.nonce) from sends s where s.chain_id = sends.chain_id and s.signer = sends.signer)
from sends
where step not like 'gap%'
group by chain_id, 2, signer;

-- Whoever runs the shop, by name. Nobody is ever deleted: the audit log speaks of them.
create table operators (
  id         text primary key,
  name       text not null,
  role       text not null check (role in ('viewer', 'support', 'admin')),
  state      text not null default 'active' check (state in ('active', 'revoked')),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index operators_name on operators (lower(name)) where state = 'active';

-- What lets somebody in: a link that works once and soon runs out, or a token for the command line. Only digests are kept.
create table operator_tokens (
  id          text primary key,
  digest      text not null unique,
  kind        text not null check (kind in ('link', 'personal')),
  -- Null: the first admin, who does not exist before the link is used.
  operator_id text references operators (id),
  made_by     text not null,
  made_at     timestamptz not null,
  expires_at  timestamptz not null,
  used_at     timestamptz,
  check (operator_id is not null or kind = 'link')
);
create index operator_tokens_of on operator_tokens (operator_id, made_at);

create table operator_sessions (
  id          text primary key,
  digest      text not null unique,
  operator_id text not null references operators (id),
  via         text not null check (via in ('console', 'sandbox')),
  device      text not null,
  address     text not null,
  began_at    timestamptz not null,
  -- Written once a minute at most.
  seen_at     timestamptz not null,
  expires_at  timestamptz not null,
  ended_at    timestamptz
);
create index operator_sessions_of on operator_sessions (operator_id) where ended_at is null;

create table passkeys (
  id          text primary key,
  -- As the authenticator calls it, base64url.
  credential  text not null unique,
  operator_id text not null references operators (id),
  name        text not null,
  -- P-256, uncompressed, hexadecimal.
  public_key  text not null,
  counter     bigint not null,
  made_at     timestamptz not null,
  used_at     timestamptz
);
create index passkeys_of on passkeys (operator_id);

-- What an authenticator is asked to sign: for two minutes, once.
create table passkey_challenges (
  digest      text primary key,
  -- Null: somebody who wants in.
  operator_id text references operators (id),
  expires_at  timestamptz not null
);
create index passkey_challenges_old on passkey_challenges (expires_at);

-- Who failed to come in, for a quarter of an hour.
create table sign_in_failures (
  id          bigint generated always as identity primary key,
  address     text not null,
  operator_id text,
  at          timestamptz not null
);
create index sign_in_failures_address on sign_in_failures (address, at);
create index sign_in_failures_operator on sign_in_failures (operator_id, at) where operator_id is not null;

-- What support gave back within a day, each in the transaction that begins the refund.
create table refund_spending (
  id          bigint generated always as identity primary key,
  operator_id text not null,
  about       text not null,
  amount      numeric(78, 0) not null,
  at          timestamptz not null
);
create index refund_spending_of on refund_spending (operator_id, at);

-- A refund that needs a second person: the first has asked, and another one may approve.
create table approvals (
  id         text primary key,
  kind       text not null check (kind in ('order.refund', 'order.decide', 'arrival.refund')),
  about      text not null,
  request    jsonb not null,
  amount     numeric(78, 0) not null,
  asked_by   text not null,
  -- As it was told: with the shop's own token, whatever name was spoken.
  asked_name text not null,
  asked_role text not null,
  asked_at   timestamptz not null,
  expires_at timestamptz not null,
  state      text not null default 'open' check (state in ('open', 'approved', 'refused', 'expired')),
  decided_by   text,
  decided_name text,
  decided_at   timestamptz,
  check ((state in ('approved', 'refused')) = (decided_by is not null)),
  check (state <> 'approved' or decided_by <> asked_by)
);
create unique index approvals_open on approvals (kind, about) where state = 'open';
create index approvals_asked on approvals (asked_at, id);

-- Who did what. Only ever added to: each entry holds the hash of the one before it.
create table audit (
  position bigint primary key,
  -- `json`, not `jsonb`: the hash is of these very letters.
  entry    json not null,
  previous text not null,
  hash     text not null
);
create index audit_who on audit (lower(entry ->> 'who'), position);
create index audit_operator on audit ((entry ->> 'operatorId'), position);
create index audit_deed on audit ((entry ->> 'deed'), position);
create index audit_about on audit ((entry -> 'about' ->> 'id'), position);

-- Where it ends. Whoever appends holds its lock to the end of the transaction, as with event_tail.
create table audit_tail (
  id       boolean primary key default true check (id),
  position bigint not null,
  hash     text not null
);

create function keep_audit() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only added to';
end
$$;
create trigger audit_kept before update or delete on audit
  for each row execute function keep_audit();
create trigger audit_not_emptied before truncate on audit
  for each statement execute function keep_audit();

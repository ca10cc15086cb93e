-- What is wrong now, over all replicas: one row from its begin to its end, and an event for each of both.
create table troubles (
  id       text primary key,
  kind     text not null,
  about    text not null,
  detail   text not null,
  began_at timestamptz not null,
  -- When a replica last saw it. It is over when none has for a while.
  seen_at  timestamptz not null,
  ended_at timestamptz
);
create unique index troubles_open on troubles (kind, about) where ended_at is null;
create index troubles_ended on troubles (ended_at) where ended_at is not null;

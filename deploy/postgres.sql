-- The database of compose.yaml: the image runs this once, when its volume is empty.
--
-- The shop's role is no superuser. It owns the schema of its own database, and nothing else.
\getenv password POSTGRES_PASSWORD
create role sutler login password :'password';
create database sutler;
revoke all on database sutler, postgres, template1 from public;
grant connect on database sutler to sutler;
-- The superuser comes in from inside the container only: docker compose exec database psql --username=postgres sutler
alter role postgres password null;

\connect sutler
alter schema public owner to sutler;
revoke all on schema public from public;

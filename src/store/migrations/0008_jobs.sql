-- A job that is finished is deleted, and none is ever given up: it waits until somebody has done it. So there is one state, no last try
-- and no last error, and what counted them goes.
delete from jobs
where state = 'done';

alter table jobs
  drop column state,
  drop column attempts,
  drop column max_attempts,
  drop column last_error,
  drop column finished_at;

-- It went with the state that it was limited to, and so did the indexes on what was finished or given up.
create index jobs_due
  on jobs (kind, priority, run_at, id);

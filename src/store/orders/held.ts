/** Locks the job: a process that would take over the order skips it until this statement is through. */
export const HELD = `
    select key
    from jobs
    where kind = $1
      and key = $2
      and lease = $3
    for update`

/** Options that are no more, by how their names begin, and what to do instead. */
const gone: Readonly<Record<string, string>> = {
  SUTLER_KEEP_: 'SUTLER_KEEP_DAYS says how long all finished work is kept',
}

export function insteadOf(option: string): string | null {
  const prefix = Object.keys(gone).find((start) => option.startsWith(start))
  return prefix === undefined ? null : gone[prefix]!
}

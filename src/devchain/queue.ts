/** Runs tasks one at a time, in the order in which they were handed in. */
export type Queue = <T>(task: () => Promise<T>) => Promise<T>

/** Between two tasks the event loop gets a turn: the EVM yields to nothing but promises, and a burst would starve all I/O. */
export function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task)
    last = result.then(breathe, breathe)
    return result
  }
}

function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

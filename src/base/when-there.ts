/** Goes on at once with what is there already: a promise costs several turns of the queue, and most requests wait for nothing. */
export function whenThere<Value, Next>(
  value: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return value instanceof Promise ? value.then(next) : next(value)
}

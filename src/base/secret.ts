import { inspect } from 'node:util'

/** A value that must never be printed. Logs, JSON, templates and `inspect` show `[secret]`; only `reveal()` gives it out. */
export class Secret {
  readonly #value: string
  constructor(value: string) {
    this.#value = value
  }
  reveal(): string {
    return this.#value
  }
  toString(): string {
    return '[secret]'
  }
  toJSON(): string {
    return '[secret]'
  }
  [inspect.custom](): string {
    return '[secret]'
  }
}

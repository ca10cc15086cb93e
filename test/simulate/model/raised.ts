import pg from 'pg'

type About = { readonly constraint?: string; readonly table?: string; readonly column?: string }

/** An error as the server raises it and the driver hands it on. */
export function raised(code: string, message: string, about: About = {}): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(message, message.length, 'error'), { severity: 'ERROR', code, ...about })
}

/** What is not modelled is never answered with something that is nearly right. */
export class Unsupported extends TypeError {
  constructor(what: string, node?: unknown) {
    super(
      `the model of the store does not know ${what}${node === undefined ? '' : `: ${JSON.stringify(node).slice(0, 300)}`}`,
    )
    this.name = 'TypeError'
  }
}

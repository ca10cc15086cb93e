/** A step of opening a shop cannot be done. The message says what is wrong, what was not done, and the line that would work. */
export class SetupFault extends Error {
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SetupFault'
    this.code = code
  }
}

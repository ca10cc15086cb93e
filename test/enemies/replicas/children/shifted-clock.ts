// Loaded before anything else: a process on a machine whose clock is wrong.
const shiftMs = Number(process.env['TEST_CLOCK_SHIFT_MS'])
const RightDate = Date

class ShiftedDate extends RightDate {
  constructor(...given: [] | [number | string | Date]) {
    super(given.length === 0 ? ShiftedDate.now() : given[0])
  }
  static override now(): number {
    return RightDate.now() + shiftMs
  }
}

globalThis.Date = ShiftedDate as DateConstructor

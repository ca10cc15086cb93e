// Examples are copied. What stands in them for the reader's own is refused by name until it is replaced, so that no copied line burns goods.

/** Anybody sees that it is made up, and every schema takes it for an address. */
export const PLACEHOLDER_ADDRESS = '0x1234567890123456789012345678901234567890'
export const PLACEHOLDER_NICKNAME = 'YOUR_NICKNAME'

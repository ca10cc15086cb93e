// Hand-packed words instead of a general ABI coder: this runs for every paid request, and a general coder costs five times as much.

export const wordOfAddress = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0')

export const wordOfUint = (value: bigint | string | number): string => BigInt(value).toString(16).padStart(64, '0')

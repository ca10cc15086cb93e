/** The families of goods that an operator can switch off, each by an option of its name. All are on. */
export const surfaceNames = ['sale', 'shop', 'gateway', 'craft'] as const

export type ConfiguredSurface = (typeof surfaceNames)[number]

/** The option that switches one off. */
export function surfaceOption(name: ConfiguredSurface): string {
  return `SUTLER_${name.toUpperCase()}`
}

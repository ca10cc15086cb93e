/** Text that is safe to send as HTML. Only `html` makes it. */
export type Html = { readonly markup: string }

type Value = string | number | Html | readonly Html[]

/** A template whose values are escaped, so that no name in a catalog can become markup. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const printed = values.map(print)
  return { markup: parts.map((part, index) => part + (printed[index] ?? '')).join('') }
}

function print(value: Value): string {
  if (typeof value === 'object') return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('')
  return String(value).replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

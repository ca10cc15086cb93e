import type { HttpRequest } from '../http/request.ts'

/** What Java's own client sends when nobody tells it what to send. It names HTML first, and can read none. */
const JAVA = 'text/html, image/gif, image/jpeg'

/** Is a person looking? Whoever names HTML, and does not prefer JSON, and only looks. Everything else is a machine, and gets JSON. */
export function wantsPage(request: HttpRequest): boolean {
  const accept = request.header('accept')
  if (accept === undefined || !accept.includes('text/html')) return false
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  if (accept.startsWith(JAVA)) return false
  const html = weightOf(accept, 'text/html')
  return html > 0 && html > weightOf(accept, 'application/json')
}

/** How much a form is liked, from 0 to 1. */
function weightOf(accept: string, type: string): number {
  let weight = 0
  for (const part of accept.split(',')) {
    const [name = '', ...parameters] = part.split(';')
    if (name.trim().toLowerCase() !== type) continue
    const q = parameters
      .map((parameter) => /^\s*q=([\d.]+)\s*$/i.exec(parameter)?.[1])
      .find((value) => value !== undefined)
    weight = Math.max(weight, q === undefined ? 1 : Number(q) || 0)
  }
  return weight
}

import type { FreeRoute, Route } from '../../domain/route.ts'
import { freeTool } from './free-tool.ts'
import { offersTool } from './offers-tool.ts'
import { type PaidToolOptions, paidTool } from './paid-tool.ts'
import type { McpTool } from './server.ts'
import { statusTool } from './status-tool.ts'
import { isPaid, toolRowsOf } from './tool-rows.ts'

/** The route table as tools, in the table's own order. */
export function toolsOf(
  routes: readonly Route[],
  { references, ...options }: PaidToolOptions & { readonly references: readonly string[] },
): readonly McpTool[] {
  const { limiter } = options
  const offered = toolRowsOf(routes)
  const own = offered.map(({ tool, rows }) => {
    const paid = rows.filter(isPaid)
    if (paid.length > 0) return paidTool(tool, paid, options)
    return freeTool(tool, rows as readonly FreeRoute[], limiter)
  })
  return [...offersTool(routes, offered, limiter), ...own, ...statusTool(routes, references, limiter)]
}

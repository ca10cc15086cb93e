import type { PaidRoute, Route } from '../../domain/route.ts'
import type { ToolDescription } from '../../domain/tool-description.ts'

/** A tool, and the rows that stand behind it. */
export type ToolRows = { readonly tool: ToolDescription; readonly rows: readonly Route[] }

/** Rows that share a tool's name are one tool, described as the first. */
export function toolRowsOf(routes: readonly Route[]): readonly ToolRows[] {
  const tools = routes.flatMap((row) => row.tools.map((tool) => ({ tool, row })))
  return [...Map.groupBy(tools, ({ tool }) => tool.name).values()].map((shown) => ({
    tool: shown[0]!.tool,
    rows: shown.map(({ row }) => row),
  }))
}

export function isPaid(row: Route): row is PaidRoute {
  return row.kind === 'paid'
}

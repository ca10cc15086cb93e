import type { PaidRoute, Route } from '../../domain/route.ts'
import type { ToolFace } from '../../domain/tool-description.ts'

/** A tool, and the rows that stand behind it. */
export type Offered = { readonly face: ToolFace; readonly rows: readonly Route[] }

/** Rows that share a tool's name are one tool, with the face of the first. */
export function offeredBy(routes: readonly Route[]): readonly Offered[] {
  const faces = routes.flatMap((row) => row.tools.map((face) => ({ face, row })))
  return [...Map.groupBy(faces, ({ face }) => face.name).values()].map((shown) => ({
    face: shown[0]!.face,
    rows: shown.map(({ row }) => row),
  }))
}

export function isPaid(row: Route): row is PaidRoute {
  return row.kind === 'paid'
}

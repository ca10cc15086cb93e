import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { JsonObject } from '../../src/base/json.ts'

export type Operation = JsonObject & {
  readonly operationId: string
  readonly 'x-payment-info'?: PaymentInfo
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>
}

type Content = Readonly<Record<string, { readonly schema?: JsonObject; readonly example?: JsonObject }>>

export type PaymentInfo = {
  readonly price: { readonly mode: string; readonly amount?: string; readonly min?: string; readonly max?: string }
  readonly protocols: readonly Readonly<Record<string, Readonly<Record<string, string>>>>[]
  readonly offers?: readonly { readonly amount: string | null; readonly currency: string }[]
  readonly atomic?: string
  readonly [term: string]: unknown
}

export type OpenApi = {
  readonly openapi: string
  readonly info: JsonObject & { readonly title: string; readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks?: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: { readonly [section: string]: Readonly<Record<string, JsonObject>> }
}

export type Listed = { readonly method: string; readonly path: string; readonly operation: Operation }

export async function readJson<Document = OpenApi>(
  url: string,
  headers: Record<string, string> = {},
): Promise<Document> {
  const response = await fetch(url, { headers })
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Document
}

export function operationsOf({ paths }: OpenApi): readonly Listed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

/** What a document says about one answer, as something that answers can be held against. */
export type Published = { response(operation: Operation, status: number): ValidateFunction }

export function published(document: OpenApi): Published {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'https://document.test/', ...document })
  return {
    response(operation, status) {
      const pointer = responsePointer(document, operation, status)
      return (
        ajv.getSchema(`https://document.test/#${pointer}`) ?? ajv.compile({ $ref: `https://document.test/#${pointer}` })
      )
    },
  }
}

function responsePointer(document: OpenApi, wanted: Operation, status: number): string {
  const found = operationsOf(document).find(({ operation }) => operation === wanted)
  if (!found) throw new TypeError('the operation is of another document')
  const response = wanted.responses[status]
  if (!response) throw new Error(`${wanted.operationId} does not say what a ${status} is`)
  const base = response.$ref
    ? response.$ref.slice(1)
    : ['', 'paths', found.path, found.method.toLowerCase(), 'responses', String(status)].map(escaped).join('/')
  return `${base}/content/application~1json/schema`.replaceAll('{', '%7B').replaceAll('}', '%7D')
}

function escaped(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1')
}

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { JsonObject } from '../../src/base/json.ts'

export type Operation = JsonObject & {
  readonly operationId: string
  readonly tags: readonly string[]
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

/** What a document says about requests and answers, as something that live ones can be checked against. */
export type Published = {
  request(listed: Listed): ValidateFunction
  response(listed: Listed, status: number, mediaType?: string): ValidateFunction
}

const DOCUMENT = 'https://document.test/'
const JSON_TYPE = 'application/json'

export function published(document: OpenApi): Published {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: DOCUMENT, ...document })
  const schemaAt = (segments: readonly string[]) => {
    const pointer = segments.map((segment) => `/${encodeURIComponent(escaped(segment))}`).join('')
    return ajv.compile({ $ref: `${DOCUMENT}#${pointer}` })
  }
  return {
    request: ({ method, path }) =>
      schemaAt(['paths', path, method.toLowerCase(), 'requestBody', 'content', JSON_TYPE, 'schema']),
    response({ method, path, operation }, status, mediaType = JSON_TYPE) {
      const response = operation.responses[status]
      if (!response) throw new Error(`${method} ${path} does not say what a ${status} is`)
      const place = response.$ref
        ? response.$ref.slice(2).split('/')
        : ['paths', path, method.toLowerCase(), 'responses', String(status)]
      return schemaAt([...place, 'content', mediaType, 'schema'])
    },
  }
}

function escaped(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1')
}

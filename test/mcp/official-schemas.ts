import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { installed } from './installed.ts'

export type Revision = '2025-11-25' | '2026-07-28'
export type Definition =
  | 'InitializeResult'
  | 'DiscoverResult'
  | 'ListToolsResult'
  | 'CallToolResult'
  | 'ListResourcesResult'
  | 'ReadResourceResult'
  | 'JSONRPCResultResponse'
  | 'JSONRPCErrorResponse'

type Schema = { readonly $defs: Readonly<Record<string, object>> }

/**
 * The protocol's own JSON Schemas, as its conformance suite carries them inside its bundle. They are read from the installed package
 * rather than copied here, so that they are of the very version that judges us.
 */
const schemas: Readonly<Record<Revision, Schema>> = (() => {
  const bundle = readFileSync(installed('mcp-conformance-next', 'dist/index.js'), 'utf8')
  const found = [
    ...bundle.matchAll(/\{\$schema:`https:\/\/json-schema\.org\/draft\/2020-12\/schema`,\$defs:\{Annotations:/g),
  ]
    .map(({ index }) => runInNewContext(`(${literalAt(bundle, index)})`) as Schema)
    .filter(({ $defs }) => 'CallToolResult' in $defs)
  const [modern] = found.filter(({ $defs }) => 'DiscoverResult' in $defs)
  const [legacy] = found.filter(({ $defs }) => !('DiscoverResult' in $defs))
  if (!modern || !legacy) throw new Error('the conformance suite no longer carries the schemas of both revisions')
  return { '2025-11-25': legacy, '2026-07-28': modern }
})()

/** The object literal that starts here. Its strings are template literals, which may hold braces. */
function literalAt(source: string, start: number): string {
  let depth = 0
  for (let i = start; i < source.length; i++) {
    const char = source[i]
    if (char === '`') {
      while (source[++i] !== '`') if (source[i] === '\\') i++
    } else if (char === '{') depth++
    else if (char === '}' && --depth === 0) return source.slice(start, i + 1)
  }
  throw new Error('the literal has no end')
}

const validators = new Map<string, ValidateFunction>()

/** What is wrong with a value, in the words of the official schema; null when nothing is. */
export function officialFault(revision: Revision, definition: Definition, value: unknown): string | null {
  const key = `${revision}#${definition}`
  const validate = validators.get(key) ?? compile(revision, definition)
  validators.set(key, validate)
  return validate(value) ? null : JSON.stringify(validate.errors)
}

function compile(revision: Revision, definition: Definition): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  const schema = structuredClone(schemas[revision])
  if (!(definition in schema.$defs)) throw new TypeError(`${revision} has no ${definition}`)
  return ajv.compile({ ...schema, $ref: `#/$defs/${definition}` })
}

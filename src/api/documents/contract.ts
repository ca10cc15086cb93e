import type { JsonObject } from '../../base/json.ts'
import { CRAFT_VERSION } from '../../surfaces/craft/config.ts'

const OPENAPI_VERSION = '3.1.0'

/** Whose contract it is. */
export type ContractSite = {
  readonly origin: string
  readonly config: { readonly service: { readonly name: string; readonly contactEmail: string | null } }
}

export type ContractParts = {
  readonly title: string
  readonly description: string
  readonly guidance?: string
  /** What each tag in use means. */
  readonly tags: JsonObject
  /** Members of the root that only this contract has. */
  readonly members?: JsonObject
  readonly paths: JsonObject
  readonly webhooks?: JsonObject
  readonly components: JsonObject
}

/** An OpenAPI document around its operations. */
export function contract({ origin, config }: ContractSite, parts: ContractParts): JsonObject {
  const { name, contactEmail } = config.service
  return {
    openapi: OPENAPI_VERSION,
    info: {
      title: parts.title,
      version: CRAFT_VERSION,
      description: parts.description,
      ...(parts.guidance === undefined ? {} : { 'x-guidance': parts.guidance }),
      contact: { name, url: origin, ...(contactEmail ? { email: contactEmail } : {}) },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'Every error, and what to do about it', url: `${origin}/errors` },
    servers: [{ url: origin }],
    tags: Object.entries(parts.tags).map(([name, description]) => ({ name, description })),
    ...parts.members,
    paths: parts.paths,
    ...(parts.webhooks ? { webhooks: parts.webhooks } : {}),
    components: parts.components,
  }
}

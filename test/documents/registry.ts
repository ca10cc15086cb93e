// What the MCP registry says of a server.json (its schema of 2025-12-11), of the members that we have. It takes no others from us: a new
// member needs its rule here.

export const isUri = (text: string) => URL.canParse(text)

const words = (lengthMax: number) => ({ type: 'string', minLength: 1, maxLength: lengthMax })
const uri = { type: 'string', format: 'uri' }

const icon = {
  type: 'object',
  properties: {
    src: { ...uri, maxLength: 255 },
    mimeType: { enum: ['image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml', 'image/webp'] },
    sizes: { type: 'array', items: { type: 'string', pattern: '^(\\d+x\\d+|any)$' } },
  },
  required: ['src'],
  additionalProperties: false,
}

export const registryRules = {
  type: 'object',
  properties: {
    $schema: { const: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json' },
    name: { type: 'string', minLength: 3, maxLength: 200, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
    title: words(100),
    description: words(100),
    // It refuses ranges.
    version: { ...words(255), pattern: '^\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$' },
    websiteUrl: uri,
    icons: { type: 'array', items: icon },
    remotes: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { type: { const: 'streamable-http' }, url: uri },
        required: ['type', 'url'],
        additionalProperties: false,
      },
    },
  },
  required: ['$schema', 'name', 'description', 'version', 'remotes'],
  additionalProperties: false,
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as z from 'zod'
import { defaultLimits } from '../../src/config/limits.ts'
import { asQuery } from '../../src/domain/query.ts'
import { exactlyOneRecipient } from '../../src/domain/recipient.ts'
import { rails } from '../../src/rails/rails.ts'
import { recipientKinds, shopBuyFields } from '../../src/surfaces/shop/schema.ts'

const wallet = '0x00000000000000000000000000000000000000aa'

/** What a client reads in OpenAPI and MCP, checked against the same bodies as the schema that the server asks. */
function printed(schema: z.ZodType) {
  const document = z.toJSONSchema(schema, { io: 'input' })
  const validate = new Ajv2020({ strict: false }).compile(document)
  return { document, accepts: (body: unknown) => validate(body) === true }
}

for (const { name: rail, privileges } of rails) {
  const kinds = recipientKinds({ privileges })
  for (const [name, schema] of [
    ['body', exactlyOneRecipient(shopBuyFields(defaultLimits, kinds), kinds)],
    ['query', exactlyOneRecipient(asQuery(shopBuyFields(defaultLimits, kinds)), kinds)],
  ] as const) {
    test(`N-06: the recipient rule of ${rail} is printed with the ${name}, and says what the server does`, () => {
      const { document, accepts } = printed(schema)
      assert.equal(document.type, 'object')
      assert.deepEqual(
        document.oneOf,
        kinds.map((kind) => ({ required: [kind] })),
      )
      assert.equal('payer' in (document.properties ?? {}), rail === 'mpp')
      assert.deepEqual(document.required, ['itemId'])
      for (let choice = 0; choice < 8; choice++) {
        const named = { nickname: 'Ada', address: wallet, payer: wallet }
        const kinds = (['nickname', 'address', 'payer'] as const).filter((_, bit) => choice & (1 << bit))
        const body = { itemId: 'keys:5', ...Object.fromEntries(kinds.map((kind) => [kind, named[kind]])) }
        assert.equal(accepts(body), schema.safeParse(body).success, `${rail} ${kinds}`)
      }
    })
  }
}

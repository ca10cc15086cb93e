import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import { Challenge, Credential } from 'mppx'
import { tempo } from 'mppx/client'
import { McpClient } from 'mppx/mcp/client'
import { createClient, custom } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { tempoModerato } from 'viem/tempo/chains'
import type { JsonObject } from '../../src/base/json.ts'
import type { RailName } from '../../src/domain/rail.ts'
import type { TestShop } from '../support/shop.ts'
import type { CallResult } from './rpc.ts'

export type PaidResult = CallResult & { readonly receipt?: Readonly<Record<string, unknown>> }

/** A stock client, connected, which pays by itself. */
export type PayingClient = {
  readonly revision: string | undefined
  callTool(name: string, input: JsonObject): Promise<PaidResult>
  listTools(): Promise<readonly { readonly name: string }[]>
  close(): Promise<void>
}

export const stockClients = ['SDK v1', 'client v2, legacy', 'client v2, modern'] as const
export type StockClient = (typeof stockClients)[number]

/** The unmodified SDK client in the unmodified wrapper of mppx. */
export async function mppxClient(
  shop: TestShop,
  payer: PrivateKeyAccount,
  kind: StockClient,
  mode: 'pull' | 'push' = 'pull',
  path = '/mcp',
): Promise<PayingClient> {
  const url = new URL(shop.url + path)
  const methods = [tempoMethod(shop, payer, mode)]
  if (kind === 'SDK v1') {
    const client = new ClientV1({ name: 'test', version: '1' })
    const transport = new TransportV1(url)
    await client.connect(transport)
    McpClient.wrap(client, { methods })
    return {
      revision: transport.protocolVersion,
      callTool: async (name, input) => (await client.callTool({ name, arguments: input })) as unknown as PaidResult,
      listTools: async () => (await client.listTools()).tools,
      close: () => client.close(),
    }
  }
  const negotiation = kind === 'client v2, modern' ? ({ mode: 'auto' } as const) : ({ mode: 'legacy' } as const)
  const client = new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: negotiation })
  await client.connect(new TransportV2(url))
  McpClient.wrap(client as unknown as Parameters<typeof McpClient.wrap>[0], { methods })
  return {
    revision: client.getNegotiatedProtocolVersion(),
    callTool: async (name, input) => (await client.callTool({ name, arguments: input })) as unknown as PaidResult,
    listTools: async () => (await client.listTools()).tools,
    close: () => client.close(),
  }
}

function tempoMethod({ chains }: TestShop, account: PrivateKeyAccount, mode: 'pull' | 'push') {
  const client = createClient({ chain: tempoModerato, transport: custom(chains.tempo) })
  const [charge] = tempo({ account, mode, getClient: () => client })
  return charge
}

/** What the stock x402 client signs for the challenge in a tool's answer. */
export function x402Payload(payer: PrivateKeyAccount, required: unknown) {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer))
  client.setSpendControls(false)
  return client.createPaymentPayload(required as PaymentRequired)
}

/** What the stock mppx method signs for the challenge in a tool's answer. */
export async function mppCredential(
  shop: TestShop,
  payer: PrivateKeyAccount,
  required: unknown,
  mode: 'pull' | 'push' = 'pull',
): Promise<JsonObject> {
  const { challenges } = required as { readonly challenges: readonly unknown[] }
  const challenge = Challenge.Schema.parse(challenges[0])
  const method = tempoMethod(shop, payer, mode)
  const credential = await method.createCredential({ challenge } as Parameters<typeof method.createCredential>[0])
  return Credential.deserialize(credential) as unknown as JsonObject
}

/** The `_meta` that pays for what a tool asks, by the stock client of that protocol. */
export async function paymentMeta(
  shop: TestShop,
  rail: RailName,
  payer: PrivateKeyAccount,
  { structuredContent, _meta }: Pick<CallResult, 'structuredContent' | '_meta'>,
): Promise<JsonObject> {
  if (rail === 'x402') return { 'x402/payment': await x402Payload(payer, structuredContent) } as unknown as JsonObject
  const required = _meta['org.paymentauth/payment-required']
  return { 'org.paymentauth/credential': await mppCredential(shop, payer, required) }
}

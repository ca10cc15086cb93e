import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestShop } from '../support/shop.ts'
import { preempt, type X402Payment } from './x402-wallet.ts'

export type Verified = { readonly isValid: boolean; readonly invalidReason?: string }
export type Settled = { readonly success: boolean; readonly transaction: string; readonly errorReason?: string }

/** What a facilitator does with one request: an answer, or null when it has answered by hand, or does not mean to answer at all. */
export type Turn<Answer> = (payment: X402Payment, response: ServerResponse) => Promise<Answer | null> | Answer | null
export type Conduct = { readonly verify: Turn<Verified>; readonly settle: Turn<Settled> }

/** An x402 facilitator over HTTP that does with each payment what a test tells it to, and settles all others honestly. */
export type FakeFacilitator = {
  readonly url: string
  behave(payment: X402Payment, conduct: Partial<Conduct>): void
  /** How often it was asked about a payment. */
  asked(payment: X402Payment, step: keyof Conduct): number
  close(): Promise<void>
}

export async function startFacilitator(shop: () => TestShop): Promise<FakeFacilitator> {
  const conducts = new Map<string, Partial<Conduct>>()
  const requests: string[] = []
  const honest: Conduct = {
    verify: () => ({ isValid: true }),
    settle: async (payment) => ({ success: true, transaction: await preempt(shop(), payment) }),
  }
  const nameOf = ({ payload }: X402Payment) => payload.authorization.nonce

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/supported')
      return void response.end(
        JSON.stringify({ kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:84532' }] }),
      )
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { paymentPayload } = JSON.parse(Buffer.concat(chunks).toString()) as { paymentPayload: X402Payment }
    const step = request.url === '/verify' ? 'verify' : 'settle'
    const name = nameOf(paymentPayload)
    requests.push(`${step} ${name}`)
    const turn = conducts.get(name)?.[step] ?? honest[step]
    const answer = await turn(paymentPayload, response)
    if (answer) response.end(JSON.stringify(step === 'settle' ? { network: 'eip155:84532', ...answer } : answer))
  }

  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave: (payment, conduct) => void conducts.set(nameOf(payment), conduct),
    asked: (payment, step) => requests.filter((request) => request === `${step} ${nameOf(payment)}`).length,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

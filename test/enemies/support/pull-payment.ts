import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Limits } from '../../../src/config/limits.ts'
import { challengeOf, credentialOf, mppWallet } from '../../checkout/mpp-wallet.ts'
import { buyUrl, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest } from '../../support/credentials.ts'
import { startBetweenNodes, step } from './stepped-shop.ts'

/** A wallet that was asked to pay for a lot, at a shop between two nodes; what it then shows, and what the till has got. */
export async function startPull(t: TestContext, own: Partial<Limits> = {}) {
  const nodes = await startBetweenNodes(t, own)
  const { shop, clock } = nodes
  const { tempo } = shop.chains
  const before = await mppPullUnderTest.till(shop)
  const wallet = await mppWallet(shop)
  const request = { ...LOT, beneficiary: wallet.address }
  const url = buyUrl(shop, mppPullUnderTest)
  const challenge = challengeOf(await fetch(url, post(request)))
  /** After the time of the payment is over, by a block that lies deep. */
  async function stepLater(orderId: string) {
    clock.move(1_000_000)
    for (let mined = 0; mined < 3; mined++) await tempo.request({ method: 'evm_mine', params: [] })
    return step(shop, orderId)
  }
  return {
    ...nodes,
    tempo,
    wallet,
    challenge,
    stepLater,
    taken: async () => (await mppPullUnderTest.till(shop)) - before,
    send: (payload: object) => fetch(url, post(request, { authorization: credentialOf(challenge, payload) })),
    async giveUp(orderId: string) {
      assert.equal((await stepLater(orderId)).status, 'expired')
    },
  }
}

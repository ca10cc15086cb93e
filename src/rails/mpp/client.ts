import { Challenge, Credential, Receipt } from 'mppx'
import { sameAddress } from '../../base/address.ts'
import { usd } from '../../base/money.ts'
import { mppNetworks } from '../../config/networks.ts'
import type { RailClient } from '../client.ts'
import { traits } from './traits.ts'
import { HEADER } from './wire.ts'

export const mppClient: RailClient = {
  name: traits.name,
  label: traits.label,
  receiptHeader: HEADER.receipt,
  documents: ['/.well-known/mpp'],

  async pay({ account, rpcUrl }, fetchWith) {
    const { Mppx, tempo } = await import('mppx/client')
    const { createClient, http } = await import('viem')
    const { tempoModerato, tempo: tempoNetwork } = await import('viem/tempo/chains')
    const networks = [tempoNetwork, tempoModerato]
    const getClient = ({ chainId }: { readonly chainId?: number | undefined }) =>
      createClient({ chain: networks.find(({ id }) => id === chainId) ?? tempoNetwork, transport: http(rpcUrl) })
    const mppx = Mppx.create({ methods: [tempo({ account, getClient })], polyfill: false, fetch: fetchWith })
    return ((input, init) => mppx.fetch(input, init)) as typeof fetch
  },

  referenceIn(headers) {
    const authorization = headers.get(HEADER.credential) ?? ''
    return /^Payment\s/i.test(authorization) ? Credential.deserialize(authorization).challenge.id : null
  },

  priceIn(response) {
    if (!/(^|,)\s*Payment\s/i.test(response.headers.get(HEADER.challenge) ?? '')) return null
    const { request, method } = Challenge.fromResponse(response)
    const {
      amount,
      currency: asset,
      recipient: payTo,
      methodDetails,
    } = request as {
      readonly amount: string
      readonly currency: string
      readonly recipient: string
      readonly methodDetails?: { readonly chainId?: number }
    }
    const known = Object.values(mppNetworks).find(({ chainId }) => chainId === methodDetails?.chainId)
    const currency = known && sameAddress(known.currency.address, asset) ? known.currency.code : null
    const network = `${method}:${methodDetails?.chainId}`
    return { rail: traits.name, amount: usd(BigInt(amount)), asset, currency, network, payTo }
  },

  settlementIn: (response) => (response.headers.has(HEADER.receipt) ? Receipt.fromResponse(response).reference : null),

  async judge(response) {
    const { method, intent, digest } = Challenge.fromResponse(response)
    return { words: `MPP ${method}/${intent}${digest === undefined ? '' : ', bound to the body'}`, url: null }
  },

  async contractErrors(contract) {
    const { validate } = await import('mppx/discovery')
    const errors = validate(contract).filter(({ severity }) => severity === 'error')
    return errors.map(({ path, message }) => `${path}: ${message}`)
  },
}

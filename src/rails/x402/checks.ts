import { parseAbi } from 'viem/utils'
import { contractAt } from '../../chain/contract.ts'
import type { X402Config } from '../../config/config.ts'
import { DECIMALS, type OutsideService, type RailCheck } from '../kind.ts'
import { supportedBy } from './remote.ts'

const tokenAbi = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
])

const ANSWER_MS_MAX = 10_000

/** What payers sign names the token by its name and version: a wrong word, and every signature is refused. */
export function checkToken({ asset, assetName, assetVersion, currency }: X402Config): RailCheck {
  return {
    what: currency,
    fix: 'Choose the SUTLER_X402_NETWORK that the RPC address belongs to.',
    async look(rpc) {
      const token = contractAt(rpc, asset, tokenAbi)
      const [name, version, decimals] = await Promise.all([
        token.read('name', []),
        token.read('version', []),
        token.read('decimals', []),
      ])
      if (name !== assetName || version !== assetVersion || decimals !== DECIMALS)
        throw new Error(`${asset} is ${name} ${version} with ${decimals} decimals.`)
      return `${name} ${version} at ${asset}`
    },
  }
}

/** Whoever settles for us, where we do not do so ourselves. */
export function outsideOf({ facilitator, network }: X402Config): readonly OutsideService[] {
  if (facilitator.kind === 'inproc') return []
  const facts = {
    name: 'facilitator',
    what: facilitator.url,
    fix: 'Check SUTLER_X402_FACILITATOR and SUTLER_X402_FACILITATOR_HEADERS.',
  }
  return [
    {
      ...facts,
      async ask() {
        const { status } = await supportedBy(facilitator)
        return status === 200
          ? { isWell: true, detail: 'The facilitator answers.' }
          : { isWell: false, detail: `It answers ${status}.` }
      },
      async look() {
        const { status, kinds } = await supportedBy(facilitator, ANSWER_MS_MAX)
        if (status < 200 || status > 299) throw new Error(`It answers ${status}.`)
        if (!kinds().some((kind) => kind.scheme === 'exact' && kind.network === network))
          throw new Error(`It does not settle exact payments on ${network}; choose another one.`)
        return `settles exact payments on ${network}`
      },
    },
  ]
}

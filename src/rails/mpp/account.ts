import { contractAt } from '../../chain/contract.ts'
import { secondOpinion } from '../../chain/second-opinion.ts'
import { erc20Abi } from '../../chain/tokens.ts'
import { confirmationsFor, type MppConfig } from '../../config/config.ts'
import type { Rail } from '../../domain/rail.ts'
import type { ChainAccess } from '../../outbox/access.ts'
import { DECIMALS, type RailAccount, type RailCheck, type RailParts, type Sandbox, type Trials } from '../kind.ts'
import { mppRail } from './rail.ts'
import { createChargeSettler } from './settlement.ts'
import { traits } from './traits.ts'
import type { TransactionVerifier } from './verifier.ts'

export function accountOf(config: MppConfig, { isSelling }: Pick<RailAccount, 'isSelling'>): RailAccount {
  const { chain, network, currency, recipient, realm, treasuryKey, confirmations, sinceBlock } = config
  return {
    rail: traits.name,
    isSelling,
    network,
    asset: currency.address,
    currency: currency.code,
    payTo: recipient,
    realm,
    chain,
    confirmations,
    sinceBlock,
    treasuryKey,
    treasurySends: true,
    otherKeys: [],
    outside: [],
    checks: [checkToken(config)],
    trials: (sandbox) => trials(chain.chainId, sandbox),
    open: (access, parts) => open(config, access, parts),
  }
}

function trials(chainId: number, { key, http, mcpUrl, rpcUrl, program, example, mcpClient }: Sandbox): Trials {
  const rpc = rpcUrl(chainId)
  const item = `'{"itemId":"keys:5","nickname":"Demo"}'`
  return [
    ['mppx', `MPPX_PRIVATE_KEY=${key} ${program('mppx')} ${http.baseUrl}/shop/mpp/buy -J ${item} -r ${rpc}`],
    ['MCP', `${mcpClient}PRIVATE_KEY=${key} RPC_URL=${rpc} ${example('buy-over-mcp')} ${mcpUrl}`],
  ]
}

function checkToken({ currency }: MppConfig): RailCheck {
  return {
    what: currency.code,
    fix: 'Choose the SUTLER_MPP_NETWORK that the RPC address belongs to.',
    async look(rpc) {
      const decimals = await contractAt(rpc, currency.address, erc20Abi).read('decimals', [])
      if (decimals !== DECIMALS) throw new Error(`${currency.address} has ${decimals} decimals.`)
      return `at ${currency.address}`
    },
  }
}

function open(config: MppConfig, { rpc, head, sender }: ChainAccess, parts: RailParts): Rail {
  const { limits, clock, log, waypoint, random, past, secondOpinionFrom, http } = parts
  const { network, currency, recipient, realm, secrets, modes } = config
  const depth = {
    head,
    clock,
    confirmations: confirmationsFor(config.confirmations),
    secondOpinion: secondOpinion(rpc, secondOpinionFrom),
  }
  const treasury = sender(config.treasuryKey)
  const { isBuried, deepTime } = treasury
  let loading: Promise<TransactionVerifier> | null = null
  const verifier = (): Promise<TransactionVerifier> => {
    loading ??= import('./verifier.ts').then(({ createTransactionVerifier }) =>
      createTransactionVerifier({ rpc, recipient, currency: currency.address }),
    )
    return loading
  }
  return mppRail({
    baseUrl: http.baseUrl,
    network,
    chainId: config.chain.chainId,
    currency,
    recipient,
    realm,
    past: past.filter((terms) => terms.rail === traits.name && terms.network === network),
    secrets,
    challengeTtlMs: limits.challengeTtlMs,
    modes,
    rpc,
    ...depth,
    settler: createChargeSettler({ ...depth, isBuried, deepTime, rpc, log, waitMs: limits.receiptWaitMs, waypoint }),
    verifier,
    random,
    treasury,
  })
}

import type { Address } from '../../base/address.ts'
import { systemClock } from '../../base/clock.ts'
import type { Hex } from '../../base/hex.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { Secret } from '../../base/secret.ts'
import { contractAt } from '../../chain/contract.ts'
import { createRpc, type Rpc } from '../../chain/rpc.ts'
import { erc20Abi } from '../../chain/tokens.ts'
import { httpTransport } from '../../chain/transport.ts'
import { type Keyring, type RingKey, readKeyring } from '../../config/keyring.ts'
import { defaultLimits } from '../../config/limits.ts'
import { addressOf } from '../../outbox/wallet.ts'
import { hasRole, type RoleName, roleOn } from '../../setup/contract-roles.ts'
import type { Command } from '../command.ts'

export const listKeys: Command = {
  args: '',
  about:
    'Shows every key and secret that the configuration names: what it is for, where it lies, its address, what it has for gas and refunds,\nand whether the contracts know it. Never a secret. What a chain does not answer is left open.',
  options: {},
  examples: [['sutler keys', 'which address needs money, or a role?']],
  async run({ env, terminal }) {
    const ring = readKeyring(env)
    const seen = ring.keys.filter(({ isSet }) => isSet)
    const keys = await Promise.all(seen.map((key) => lookAt(key, ring)))
    const { table, style } = terminal
    const rows = keys.map(({ role, place, address, gas, float, onChain, trouble }) => [
      role,
      address ?? style.dim('–'),
      trouble ?? [gas, float, onChain].filter((part) => part !== null).join(', '),
      style.dim(place),
    ])
    const none = 'the configuration names no key; begin with `sutler init`'
    return {
      json: { keys },
      text: rows.length === 0 ? none : table(rows),
      isGood: keys.every((key) => key.trouble === null),
    }
  },
}

type Seen = {
  readonly role: string
  readonly option: string
  readonly place: string
  readonly address: Address | null
  readonly chainId: number | null
  readonly gas: string | null
  readonly float: string | null
  readonly onChain: string | null
  readonly trouble: string | null
}

async function lookAt({ role, key, file, trouble, chain, token }: RingKey, { contracts }: Keyring): Promise<Seen> {
  const address = key ? addressOf(key) : null
  const place = key && !(key instanceof Secret) ? 'signer' : (file ?? 'environment')
  const base = { role: role.role, option: role.option, place, address, chainId: chain?.chainId ?? null, trouble }
  if (address === null || chain === null) return { ...base, gas: null, float: null, onChain: null }
  const { surface, contractRole } = role
  const transports = chain.rpcUrls.map((url) => httpTransport(url, defaultLimits.rpcTimeoutMs))
  const rpc = createRpc({ chainId: chain.chainId, transports, clock: systemClock })
  const [gas, float, onChain] = await Promise.all([
    chain.paysGasInCoin ? quiet(gasOf(rpc, address)) : null,
    role.hasFloat && token ? quiet(floatOf(rpc, token, address)) : null,
    surface && contractRole
      ? quiet(roleOf(rpc, { name: surface, address: contracts[contractRole] }, { role: contractRole, holder: address }))
      : null,
  ])
  return { ...base, gas, float, onChain }
}

/** A chain that does not answer is no reason to show nothing. */
function quiet(answer: Promise<string>): Promise<string> {
  return answer.catch(() => 'the chain does not answer')
}

async function gasOf(rpc: Rpc, address: Address): Promise<string> {
  const wei = BigInt(await rpc.request<Hex>('eth_getBalance', [address, 'latest']))
  return `${(Number(wei) / 1e18).toFixed(6)} for gas`
}

async function floatOf(rpc: Rpc, token: Address, address: Address): Promise<string> {
  return `${formatUsd(usd(await contractAt(rpc, token, erc20Abi).read('balanceOf', [address])))} for refunds`
}

type Contract = { readonly name: 'sale' | 'craft'; readonly address: Address | null }

async function roleOf(rpc: Rpc, { name, address }: Contract, { role, holder }: { role: RoleName; holder: Address }) {
  if (address === null) return 'no contract yet'
  return (await hasRole(rpc, address, roleOn(name, role)!, holder))
    ? `is ${role}`
    : `is NOT ${role}: sutler contracts grant ${role} ${holder}`
}

import { type Address, sameAddress } from '../base/address.ts'
import { contractAt } from '../chain/contract.ts'
import { erc20Abi } from '../chain/tokens.ts'
import type { OperationsConfig } from '../config/config.ts'
import type { ReceivingAccount } from '../domain/receiving-account.ts'
import type { RoleSigner } from './signers.ts'

/** What a key of ours has to spend. */
export type WalletBalance = {
  readonly role: string
  readonly chainId: number
  readonly address: Address
  readonly unit: 'wei' | 'token'
  readonly amount: bigint
  readonly isLow: boolean
}

/** Gas of every key that pays it, and what the treasuries have for refunds. */
export async function readWallets(
  signers: readonly RoleSigner[],
  accounts: readonly { readonly rail: Pick<ReceivingAccount['rail'], 'network' | 'asset' | 'payTo'> }[],
  { gasLowWei, treasuryLow }: OperationsConfig,
): Promise<readonly WalletBalance[]> {
  const gas = signers
    .filter(({ paysGasInCoin }) => paysGasInCoin)
    .map(async (signer) => {
      const amount = await signer.sender.balance()
      return { ...describe(signer), unit: 'wei' as const, amount, isLow: amount < gasLowWei }
    })
  const money = signers
    .filter(({ role }) => role === 'treasury')
    .map(async (signer) => {
      const account = accounts.find(({ rail }) => Number(rail.network.split(':')[1]) === signer.rpc.chainId)
      if (!account) return null
      const amount = await contractAt(signer.rpc, account.rail.asset, erc20Abi).read('balanceOf', [
        signer.sender.address,
      ])
      // Refunds leave from where the money came, so that it needs none of its own but for fees that are paid in the token.
      const needsNone = signer.paysGasInCoin && sameAddress(account.rail.payTo, signer.sender.address)
      return { ...describe(signer), unit: 'token' as const, amount, isLow: !needsNone && amount < treasuryLow }
    })
  return (await Promise.all([...gas, ...money])).filter((wallet) => wallet !== null)
}

function describe({ role, rpc, sender }: RoleSigner) {
  return { role, chainId: rpc.chainId, address: sender.address }
}

import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Address } from '../../src/base/address.ts'
import { type MppWallet, mppWallet } from '../checkout/mpp-wallet.ts'
import { sendFrom } from '../checkout/x402-wallet.ts'
import { fundedWallet } from '../support/buyers.ts'
import { mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import type { TestShop } from '../support/shop.ts'

/** Somebody who sends money to the till without buying anything. */
export type Stranger = {
  readonly rail: RailUnderTest
  readonly address: Address
  readonly account: PrivateKeyAccount
  /** Returns the transaction. */
  give(amount: bigint): Promise<Hex>
}

const abi = parseAbi(['function transfer(address to, uint256 amount)'])

export async function x402Stranger(shop: TestShop): Promise<Stranger> {
  const account = await fundedWallet(shop)
  const { asset, payTo } = shop.config.x402!
  return {
    rail: x402UnderTest,
    address: account.address,
    account,
    give: (amount) => sendFrom(shop.chains.native, account, asset, transfer(payTo, amount)),
  }
}

export async function mppStranger(shop: TestShop): Promise<Stranger> {
  const wallet: MppWallet = await mppWallet(shop)
  const { currency, recipient } = shop.config.mpp!
  let gifts = 0
  return {
    rail: mppPushUnderTest,
    address: wallet.address,
    account: wallet.account,
    give(amount) {
      // Two gifts of the same amount would be one transaction.
      const gas = 300_000n + BigInt(gifts++)
      return wallet.send(wallet.sign([{ to: currency.address, data: transfer(recipient, amount) }], { gas }))
    },
  }
}

export function transfer(to: Address, amount: bigint): Hex {
  return encodeFunctionData({ abi, functionName: 'transfer', args: [to, amount] })
}

import { Challenge, Credential } from 'mppx'
import { type Address, concat, encodeFunctionData, type Hex, keccak256, maxUint256, slice, toBytes } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { testTip20 } from '../../src/artifacts/TestTip20.ts'
import { PATH_USD_ADDRESS } from '../../src/devchain/rules.ts'
import { signTempo, type TempoFields } from '../devchain/tempo-signing.ts'
import { fundedWallet } from '../support/buyers.ts'
import type { TestShop } from '../support/shop.ts'

/** A payer who builds MPP payments by hand, and so can build wrong ones. */
export type MppWallet = {
  readonly address: Address
  readonly account: PrivateKeyAccount
  /** A signed transaction of these calls, alive for 25 seconds as the stock client makes it. */
  sign(calls: TempoFields['calls'], fields?: Partial<TempoFields>): Hex
  /** Sends it, and returns its hash. */
  send(raw: Hex): Promise<Hex>
}

export async function mppWallet(shop: TestShop, dollars = 1_000n): Promise<MppWallet> {
  const key = generatePrivateKey()
  const account = privateKeyToAccount(key)
  await fundedWallet(shop, dollars, account)
  return {
    address: account.address,
    account,
    sign: (calls, fields = {}) =>
      signTempo(key, {
        calls,
        nonceKey: maxUint256,
        nonce: 0n,
        validBefore: Math.floor(Date.now() / 1000) + 25,
        ...fields,
      }),
    send: (raw) => shop.chains.tempo.request({ method: 'eth_sendRawTransaction', params: [raw] }) as Promise<Hex>,
  }
}

export type Asked = ReturnType<typeof Challenge.fromResponse> & {
  readonly request: { readonly amount: string; readonly recipient: Address; readonly currency: Address }
}

export function challengeOf(unpaid: Response): Asked {
  return Challenge.fromResponse(unpaid) as Asked
}

/** `Authorization: Payment …`, as the protocol's own library writes it. */
export function credentialOf(challenge: Asked, payload: object, source?: string): string {
  return Credential.serialize({ challenge, payload, ...(source ? { source } : {}) } as never)
}

/** The memo that binds a transfer to a challenge: tag, version, realm, client, challenge. */
export function memoOf({ realm, id }: { readonly realm: string; readonly id: string }, client: Hex = ANONYMOUS): Hex {
  const print = (text: string, length: number) => slice(keccak256(toBytes(text)), 0, length)
  return concat([print('mpp', 4), '0x01', print(realm, 10), client, print(id, 7)])
}

const ANONYMOUS: Hex = '0x00000000000000000000'

export function payingCall(
  challenge: Asked,
  changes: { readonly amount?: bigint; readonly to?: Address; readonly memo?: Hex; readonly token?: Address } = {},
): { to: Address; data: Hex } {
  const {
    amount = BigInt(challenge.request.amount),
    to = challenge.request.recipient,
    memo = memoOf(challenge),
  } = changes
  const data = encodeFunctionData({ abi: testTip20.abi, functionName: 'transferWithMemo', args: [to, amount, memo] })
  return { to: changes.token ?? PATH_USD_ADDRESS, data }
}

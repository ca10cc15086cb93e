// The unmodified `@x402/axios` in a process of its own, as an agent would run it. Prints the status of the answer, and nothing of it.

import { wrapAxiosWithPayment, x402Client } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import axios from 'axios'
import { privateKeyToAccount } from 'viem/accounts'

const { url, key, body } = JSON.parse(process.argv[2]!) as { url: string; key: `0x${string}`; body: object }
// The axios package brings a core of its own, so its client wants the types of that one.
const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key)) as never)
const { status } = await wrapAxiosWithPayment(axios.create(), client).post(url, body)
console.log(status)

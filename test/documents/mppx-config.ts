import { tempo } from 'mppx/client'
import { createClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { tempoModerato } from 'viem/tempo/chains'

// What `mppx validate` pays with (MPPX_CONFIG). Without it the command asks a public faucet for money.

const { MPPX_PRIVATE_KEY, MPPX_RPC_URL } = process.env
const account = privateKeyToAccount(MPPX_PRIVATE_KEY as Hex)
const getClient = () => createClient({ chain: tempoModerato, transport: http(MPPX_RPC_URL) })

export default { methods: [tempo.charge({ account, getClient })] }

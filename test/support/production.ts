import { generateKeyPairSync, randomBytes } from 'node:crypto'

/** A configuration that production takes as it is: every key and secret is fresh, and nothing of it leads anywhere. */
export function productionEnv(changes: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = () => `0x${randomBytes(32).toString('hex')}`
  const secret = () => randomBytes(32).toString('base64url')
  const address = () => `0x${randomBytes(20).toString('hex')}`
  const rpcs = (path: string) => `https://one.example.org/${path},https://two.example.org/${path}`
  return {
    SUTLER_MODE: 'production',
    SUTLER_BASE_URL: 'https://shop.example.org',
    SUTLER_OPERATOR_TOKEN: secret(),
    SUTLER_RECEIPT_KEY: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    SUTLER_X402_RPC_URL: rpcs('base'),
    SUTLER_X402_PAY_TO: address(),
    SUTLER_X402_SETTLER_KEY: key(),
    SUTLER_X402_TREASURY_KEY: key(),
    SUTLER_MPP_RPC_URL: rpcs('tempo'),
    SUTLER_MPP_RECIPIENT: address(),
    SUTLER_MPP_SECRET: secret(),
    SUTLER_MPP_TREASURY_KEY: key(),
    SUTLER_GAME_RPC_URL: rpcs('base'),
    SUTLER_SALE_CONTRACT: address(),
    SUTLER_SALE_IDS: '1',
    SUTLER_MINTER_KEY: key(),
    SUTLER_CRAFT_CONTROLLER: address(),
    SUTLER_CRAFTER_KEY: key(),
    ...changes,
  }
}

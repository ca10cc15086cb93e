import type { Address } from '../base/address.ts'
import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { Secret } from '../base/secret.ts'

// Keys and secrets that everybody knows: those of the sandbox, and those that development chains hand out. The sandbox lives by them, and
// production refuses them by name.

const sandboxRoles = ['deployer', 'settler', 'treasury', 'minter', 'crafter', 'till', 'demo', 'receipts'] as const
export type SandboxRole = (typeof sandboxRoles)[number]

/** Anybody can compute them. */
export function sandboxKey(role: SandboxRole): Secret {
  return new Secret(toHex(keccak256(Buffer.from(`sutler sandbox ${role}`))))
}

export const SANDBOX_MPP_SECRET = new Secret('sandbox challenges are signed with a secret everybody knows')
export const SANDBOX_OPERATOR_TOKEN = 'sandbox-operator'

/** The accounts of the mnemonic that Hardhat, Anvil and Ganache start with. */
const DEVELOPMENT_KEYS = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6',
  '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a',
  '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba',
  '0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e',
  '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356',
  '0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97',
  '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6',
]

/** What the keys above are paid at; a test derives them. Whoever is paid there is robbed at once. */
export const publishedAddresses: readonly Address[] = [
  '0xBA8eCcF57f1000a715a2bEb28618dD515390fBCc',
  '0xCe80d1FDdDB22349A02797cBf7D13975F1598B19',
  '0xd8A315B2Ed99c399ac25245FF3a63910a7395eA4',
  '0x813a19B8370476fB749c7495f20d23a2E28eCE31',
  '0xe77d11d718B5c4a0dd989b84c94751C24ebBa913',
  '0x189bB5971493aCc956eFf3Bd1Cb4c61E6037303c',
  '0x6ff726aA475441d65C92D8dd1Aa24638f5dF9f09',
  '0xF0316Ff61D9Fd2c9e4BD63cb3E0368673e9eb10a',
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
  '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
  '0x14dC79964da2C08b23698B3D3cc7Ca32193d9955',
  '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f',
  '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
]

/** Of the keys above, in the order of their addresses. */
export function publishedKeys(): readonly string[] {
  return [...sandboxRoles.map((role) => sandboxKey(role).reveal()), ...DEVELOPMENT_KEYS]
}

export function isPublishedSecret(value: string): boolean {
  return publishedKeys().includes(value.toLowerCase()) || value === SANDBOX_MPP_SECRET.reveal()
}

export function isPublishedAddress(address: string): boolean {
  return publishedAddresses.some((published) => published.toLowerCase() === address.toLowerCase())
}

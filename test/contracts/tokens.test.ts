import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { keccak256, parseEther } from 'viem'
import { burnableCollection } from '../../src/artifacts/BurnableCollection.ts'
import { craftToken } from '../../src/artifacts/CraftToken.ts'
import { multicall3 } from '../../src/artifacts/Multicall3.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { MULTICALL3_ADDRESS } from '../../src/devchain/rules.ts'
import { deploy, fundedWallet, mined, newAccount, reverts, type Wallet } from '../devchain/support.ts'

suite('collection, craft token and Multicall3', () => {
  let chain: DevChain
  let admin: Wallet
  let stranger: Wallet
  const player = newAccount().address

  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    admin = await fundedWallet(chain)
    stranger = await fundedWallet(chain)
  })
  after(() => chain.close())

  test('a collection mints consecutive tokens, for its minter only', async () => {
    const { abi } = burnableCollection
    const address = await deploy(admin, burnableCollection, ['Relics', 'REL', 'ipfs://relics/', admin.account.address])
    const mint = { address, abi, functionName: 'mint', args: [player, 3n] } as const
    await reverts(stranger.simulateContract(mint), 'AccessControlUnauthorizedAccount')
    await mined(admin, admin.writeContract(mint))
    assert.equal((await admin.simulateContract(mint)).result, 4n)
    assert.equal(await admin.readContract({ address, abi, functionName: 'ownerOf', args: [3n] }), player)
    assert.equal(await admin.readContract({ address, abi, functionName: 'tokenURI', args: [3n] }), 'ipfs://relics/3')
    assert.equal(
      await admin.readContract({ address, abi, functionName: 'supportsInterface', args: ['0x80ac58cd'] }),
      true,
    )
  })

  test('the craft token has 18 decimals and one minter role', async () => {
    const { abi } = craftToken
    const address = await deploy(admin, craftToken, ['Spark', 'SPK', admin.account.address])
    const mint = { address, abi, functionName: 'mint', args: [player, parseEther('2')] } as const
    await reverts(stranger.simulateContract(mint), 'AccessControlUnauthorizedAccount')
    await mined(admin, admin.writeContract(mint))
    assert.equal(await admin.readContract({ address, abi, functionName: 'balanceOf', args: [player] }), parseEther('2'))
    assert.equal(await admin.readContract({ address, abi, functionName: 'decimals' }), 18)
  })

  test('the artifacts hold the code that a deployment leaves behind', async () => {
    const address = await deploy(admin, multicall3, [])
    const code = await admin.getCode({ address })
    assert.equal(keccak256(code!), keccak256(multicall3.runtime))
    assert.equal(keccak256((await admin.getCode({ address: MULTICALL3_ADDRESS }))!), keccak256(code!))
  })
})

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Address, type Hex, keccak256, parseEther, parseEventLogs, toHex, zeroAddress } from 'viem'
import { burnableCollection } from '../../src/artifacts/BurnableCollection.ts'
import { craftController } from '../../src/artifacts/CraftController.ts'
import { craftToken } from '../../src/artifacts/CraftToken.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { lyingCollection } from '../artifacts/LyingCollection.ts'
import { taxedToken } from '../artifacts/TaxedToken.ts'
import { deploy, fundedWallet, mined, reverts, type Wallet } from '../devchain/support.ts'
import { verifies } from '../support/verifies.ts'

// The errors of the tokens it moves come through the controller.
const abi = [
  ...craftController.abi,
  ...burnableCollection.abi.filter(({ type }) => type === 'error'),
  ...craftToken.abi.filter(({ type }) => type === 'error'),
] as unknown as typeof craftController.abi
const nftAbi = burnableCollection.abi
const tokenAbi = craftToken.abi

const CRAFT_SECONDS = 3_600n
const SECONDS_PER_TOKEN = 60n
const role = (name: string): Hex => keccak256(toHex(name))
const order = (name: string): Hex => keccak256(toHex(name))
type Nft = { readonly collection: Address; readonly tokenId: bigint }

suite('CraftController', () => {
  let chain: DevChain
  let admin: Wallet
  let operator: Wallet
  let user: Wallet
  let other: Wallet
  let collection: Address
  let token: Address
  let controller: Address

  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    admin = await fundedWallet(chain)
    operator = await fundedWallet(chain)
    user = await fundedWallet(chain)
    other = await fundedWallet(chain)
    collection = await deploy(admin, burnableCollection, ['Relics', 'REL', 'ipfs://relics/', admin.account.address])
    token = await deploy(admin, craftToken, ['Spark', 'SPK', admin.account.address])
    controller = await newController(token)
    await allow(controller, collection)
    const grant = {
      address: token,
      abi: tokenAbi,
      functionName: 'mint',
      args: [user.account.address, parseEther('1000')],
    } as const
    await mined(admin, admin.writeContract(grant))
    await approveTokens(parseEther('1000'))
  })
  after(() => chain.close())

  async function newController(craftTokenAddress: Address): Promise<Address> {
    const args = [admin.account.address, craftTokenAddress, CRAFT_SECONDS, SECONDS_PER_TOKEN] as const
    const address = await deploy(admin, craftController, args)
    const grant = [role('OPERATOR_ROLE'), operator.account.address] as const
    await mined(admin, admin.writeContract({ address, abi, functionName: 'grantRole', args: grant }))
    return address
  }
  const allow = (address: Address, nfts: Address) =>
    mined(admin, admin.writeContract({ address, abi, functionName: 'setCollectionAllowed', args: [nfts, true] }))
  const approve = (who: Wallet, { collection: address, tokenId }: Nft, to = controller) =>
    mined(who, who.writeContract({ address, abi: nftAbi, functionName: 'approve', args: [to, tokenId] }))
  const approveTokens = (amount: bigint) =>
    mined(
      user,
      user.writeContract({ address: token, abi: tokenAbi, functionName: 'approve', args: [controller, amount] }),
    )
  const ownerOf = ({ collection, tokenId }: Nft) =>
    admin.readContract({ address: collection, abi: nftAbi, functionName: 'ownerOf', args: [tokenId] })
  const tokensOf = (who: Address) =>
    admin.readContract({ address: token, abi: tokenAbi, functionName: 'balanceOf', args: [who] })
  const timersOf = (who: Address) =>
    admin.readContract({ address: controller, abi, functionName: 'timersOf', args: [who] })
  const actionOf = (orderId: Hex) =>
    admin.readContract({ address: controller, abi, functionName: 'actionOf', args: [orderId] })

  /** New tokens, each approved alone for the controller. */
  async function give(who: Wallet, quantity: bigint): Promise<Nft[]> {
    const mint = {
      address: collection,
      abi: nftAbi,
      functionName: 'mint',
      args: [who.account.address, quantity],
    } as const
    const { result: first } = await admin.simulateContract(mint)
    await mined(admin, admin.writeContract(mint))
    const nfts = Array.from({ length: Number(quantity) }, (_, i) => ({ collection, tokenId: first + BigInt(i) }))
    for (const nft of nfts) await approve(who, nft)
    return nfts
  }
  type BurnArgs = readonly [orderId: Hex, user: Address, nfts: readonly Nft[]]
  const burnCall = (args: BurnArgs) => ({ address: controller, abi, functionName: 'burn', args }) as const
  const burn = (args: BurnArgs) => mined(operator, operator.writeContract(burnCall(args)))
  const tryBurn = (args: BurnArgs, caller = operator) => caller.simulateContract(burnCall(args))
  type AccelerateArgs = readonly [orderId: Hex, user: Address, amount: bigint]
  const accelerateCall = (args: AccelerateArgs) =>
    ({ address: controller, abi, functionName: 'accelerate', args }) as const
  const accelerate = (args: AccelerateArgs) => mined(operator, operator.writeContract(accelerateCall(args)))
  const tryAccelerate = (args: AccelerateArgs, caller = operator) => caller.simulateContract(accelerateCall(args))

  /** Runs on a copy of the chain: whatever it does to time and timers is undone. */
  async function isolated(body: () => Promise<void>): Promise<void> {
    const id = await chain.request({ method: 'evm_snapshot' })
    try {
      await body()
    } finally {
      assert.equal(await chain.request({ method: 'evm_revert', params: [id] }), true)
    }
  }

  test('a burn takes every token into the controller and starts one timer', () =>
    isolated(async () => {
      const nfts = await give(user, 3n)
      const receipt = await burn([order('burn'), user.account.address, nfts])
      for (const nft of nfts) assert.equal(await ownerOf(nft), controller)
      const { timestamp } = await admin.getBlock({ blockNumber: receipt.blockNumber })
      const [timer, ...none] = await timersOf(user.account.address)
      assert.deepEqual(none, [])
      assert.deepEqual(timer, {
        id: 1n,
        user: user.account.address,
        startedAt: timestamp,
        readyAt: timestamp + CRAFT_SECONDS,
      })
      const [event] = parseEventLogs({ abi, logs: receipt.logs, eventName: 'Burned' })
      assert.equal(event!.args.orderId, order('burn'))
      assert.equal(event!.args.user, user.account.address)
      assert.equal(event!.args.timerId, 1n)
      assert.equal(event!.args.nfts.length, 3)
      assert.deepEqual(await actionOf(order('burn')), [1, user.account.address, true, [1n]])
      const known = await admin.readContract({ address: controller, abi, functionName: 'timer', args: [1n] })
      assert.deepEqual(known, timer)
    }))

  test('20 tokens are the most, 0 and 21 are refused', () =>
    isolated(async () => {
      const nfts = await give(user, 21n)
      await reverts(tryBurn([order('0'), user.account.address, []]), 'BadNftCount')
      await reverts(tryBurn([order('21'), user.account.address, nfts]), 'BadNftCount')
      await burn([order('20'), user.account.address, nfts.slice(0, 20)])
      assert.equal((await timersOf(user.account.address)).length, 1)
    }))

  test('a burn is all or nothing', () =>
    isolated(async () => {
      verifies('D7.6')
      const mine = await give(user, 2n)
      const [foreign] = await give(other, 1n)
      const args = [order('mixed'), user.account.address, [...mine, foreign!]] as const
      await reverts(tryBurn(args), 'NotOwnedByUser')
      const hash = await operator.writeContract({ ...burnCall(args), gas: 2_000_000n })
      assert.equal((await operator.waitForTransactionReceipt({ hash })).status, 'reverted')
      assert.equal(await ownerOf(mine[0]!), user.account.address)
      assert.deepEqual(await timersOf(user.account.address), [])
      assert.deepEqual(await actionOf(order('mixed')), [0, zeroAddress, false, []])
    }))

  test('the same burn twice burns once and returns the same timer', () =>
    isolated(async () => {
      verifies('D7.6')
      const nfts = await give(user, 2n)
      const args = [order('twice'), user.account.address, nfts] as const
      await burn(args)
      assert.deepEqual((await tryBurn(args)).result, [1n])
      assert.equal((await burn(args)).logs.length, 0)
      assert.equal((await timersOf(user.account.address)).length, 1)
    }))

  test('an order id cannot be used for another burn, user or action', () =>
    isolated(async () => {
      const nfts = await give(user, 2n)
      await burn([order('id'), user.account.address, nfts.slice(0, 1)])
      await reverts(tryBurn([order('id'), user.account.address, nfts.slice(1)]), 'OrderMismatch')
      await reverts(tryBurn([order('id'), other.account.address, nfts.slice(0, 1)]), 'OrderMismatch')
      await reverts(tryAccelerate([order('id'), user.account.address, parseEther('1')]), 'OrderMismatch')
    }))

  test('an order that is closed is never carried out; one that was carried out stays so', () =>
    isolated(async () => {
      const nfts = await give(user, 2n)
      const close = (name: string, by = operator) =>
        by.simulateContract({ address: controller, abi, functionName: 'closeOrder', args: [order(name)] })
      await reverts(close('a', user), 'AccessControlUnauthorizedAccount')
      assert.equal((await close('a')).result, false)
      await mined(operator, operator.writeContract((await close('a')).request))
      await reverts(tryBurn([order('a'), user.account.address, nfts]), 'OrderClosed')
      await reverts(tryAccelerate([order('a'), user.account.address, parseEther('1')]), 'OrderClosed')
      await burn([order('b'), user.account.address, nfts])
      assert.equal((await close('b')).result, true)
      await mined(operator, operator.writeContract((await close('b')).request))
      assert.deepEqual((await tryBurn([order('b'), user.account.address, nfts])).result, [1n])
    }))

  test('a token named twice, a token that is gone, a token that never was: refused', () =>
    isolated(async () => {
      const [nft] = await give(user, 1n)
      await reverts(tryBurn([order('dup'), user.account.address, [nft!, nft!]]), 'NotOwnedByUser')
      await burn([order('gone'), user.account.address, [nft!]])
      await reverts(tryBurn([order('again'), user.account.address, [nft!]]), 'NotOwnedByUser')
      await reverts(tryBurn([order('self'), controller, [nft!]]), 'BadUser')
      const never = { collection, tokenId: 999_999n }
      await reverts(tryBurn([order('never'), user.account.address, [never]]), 'ERC721NonexistentToken')
    }))

  test('a token that is not approved alone stays, even where all tokens are approved', () =>
    isolated(async () => {
      verifies('D7.10')
      const nfts = await give(user, 2n)
      await approve(user, nfts[1]!, zeroAddress)
      await reverts(tryBurn([order('na'), user.account.address, nfts]), 'NotApprovedAlone')
      const all = { address: collection, abi: nftAbi, functionName: 'setApprovalForAll' } as const
      await mined(user, user.writeContract({ ...all, args: [controller, true] }))
      await reverts(tryBurn([order('na'), user.account.address, nfts]), 'NotApprovedAlone')
      await burn([order('na'), user.account.address, nfts.slice(0, 1)])
    }))

  test('a collection that is not on the list is refused, and can be put on and off it', () =>
    isolated(async () => {
      const strange = await deploy(admin, burnableCollection, ['Other', 'OTH', '', admin.account.address])
      const mint = { address: strange, abi: nftAbi, functionName: 'mint', args: [user.account.address, 2n] } as const
      await mined(admin, admin.writeContract(mint))
      await approve(user, { collection: strange, tokenId: 1n })
      const args = [order('strange'), user.account.address, [{ collection: strange, tokenId: 1n }]] as const
      await reverts(tryBurn(args), 'CollectionNotAllowed')
      await allow(controller, strange)
      const list = () => admin.readContract({ address: controller, abi, functionName: 'collections' })
      assert.deepEqual(await list(), [collection, strange])
      await burn(args)
      const off = { address: controller, abi, functionName: 'setCollectionAllowed', args: [strange, false] } as const
      await mined(admin, admin.writeContract(off))
      assert.equal(
        await admin.readContract({ address: controller, abi, functionName: 'isAllowed', args: [strange] }),
        false,
      )
      await reverts(
        tryBurn([order('late'), user.account.address, [{ collection: strange, tokenId: 2n }]]),
        'CollectionNotAllowed',
      )
    }))

  test('M-16: a collection that lies about a transfer is caught', () =>
    isolated(async () => {
      const liar = await deploy(admin, lyingCollection, [])
      const mint = {
        address: liar,
        abi: lyingCollection.abi,
        functionName: 'mint',
        args: [user.account.address, 1n],
      } as const
      await mined(admin, admin.writeContract(mint))
      await approve(user, { collection: liar, tokenId: 1n })
      await allow(controller, liar)
      await reverts(tryBurn([order('lie'), user.account.address, [{ collection: liar, tokenId: 1n }]]), 'NotReceived')
    }))

  test('acceleration spends tokens on the oldest timer first and carries the rest over', () =>
    isolated(async () => {
      const nfts = await give(user, 3n)
      for (const [i, nft] of nfts.entries()) await burn([order(`b${i}`), user.account.address, [nft]])
      const before = await timersOf(user.account.address)
      // 90 tokens are 5,400 seconds: the first timer's 3,600, and about half of the second's.
      const receipt = await accelerate([order('acc'), user.account.address, parseEther('90')])
      const { timestamp } = await admin.getBlock({ blockNumber: receipt.blockNumber })
      const [first, second, third] = await timersOf(user.account.address)
      assert.equal(first!.readyAt, timestamp)
      const spentOnFirst = before[0]!.readyAt - timestamp
      assert.equal(second!.readyAt, before[1]!.readyAt - (5_400n - spentOnFirst))
      assert.equal(third!.readyAt, before[2]!.readyAt)
      assert.equal(await tokensOf(controller), parseEther('90'))
      assert.equal(await tokensOf(user.account.address), parseEther('910'))
      const [event] = parseEventLogs({ abi, logs: receipt.logs, eventName: 'Accelerated' })
      assert.deepEqual(event!.args, {
        orderId: order('acc'),
        user: user.account.address,
        amount: parseEther('90'),
        secondsSaved: 5_400n,
        timerIds: [1n, 2n],
      })
      assert.deepEqual(await actionOf(order('acc')), [2, user.account.address, true, [1n, 2n]])
    }))

  test('the same acceleration twice charges once; another one under its id is refused', () =>
    isolated(async () => {
      const nfts = await give(user, 1n)
      await burn([order('b'), user.account.address, nfts])
      const args = [order('acc'), user.account.address, parseEther('1')] as const
      await accelerate(args)
      assert.deepEqual((await tryAccelerate(args)).result, [1n])
      await accelerate(args)
      assert.equal(await tokensOf(controller), parseEther('1'))
      await reverts(tryAccelerate([order('acc'), user.account.address, parseEther('2')]), 'OrderMismatch')
    }))

  test('with no running timer there is nothing to accelerate, and nothing is charged', () =>
    isolated(async () => {
      const args = [order('idle'), user.account.address, parseEther('1')] as const
      await reverts(tryAccelerate(args), 'NothingToAccelerate')
      const nfts = await give(user, 2n)
      await burn([order('b'), user.account.address, nfts.slice(0, 1)])
      await chain.request({ method: 'evm_increaseTime', params: [Number(CRAFT_SECONDS)] })
      await chain.request({ method: 'evm_mine' })
      await reverts(tryAccelerate(args), 'NothingToAccelerate')
      assert.equal(await tokensOf(controller), 0n)
      // A ready timer before a running one is stepped over.
      await burn([order('c'), user.account.address, nfts.slice(1)])
      assert.deepEqual((await tryAccelerate(args)).result, [2n])
    }))

  test('acceleration needs allowance and balance', () =>
    isolated(async () => {
      const nfts = await give(user, 1n)
      await burn([order('b'), user.account.address, nfts])
      await reverts(
        tryAccelerate([order('poor'), user.account.address, parseEther('1001')]),
        'ERC20InsufficientAllowance',
      )
      await approveTokens(parseEther('2000'))
      await reverts(
        tryAccelerate([order('poor'), user.account.address, parseEther('1001')]),
        'ERC20InsufficientBalance',
      )
    }))

  test('M-16: a token that keeps a part of each transfer buys nothing', () =>
    isolated(async () => {
      const taxed = await deploy(admin, taxedToken, [])
      const address = await newController(taxed)
      await allow(address, collection)
      const fund = {
        address: taxed,
        abi: taxedToken.abi,
        functionName: 'mint',
        args: [user.account.address, parseEther('9')],
      } as const
      await mined(admin, admin.writeContract(fund))
      const spend = {
        address: taxed,
        abi: taxedToken.abi,
        functionName: 'approve',
        args: [address, parseEther('9')],
      } as const
      await mined(user, user.writeContract(spend))
      const nfts = await give(user, 1n)
      await approve(user, nfts[0]!, address)
      await mined(operator, operator.writeContract({ ...burnCall([order('b'), user.account.address, nfts]), address }))
      const call = { ...accelerateCall([order('t'), user.account.address, parseEther('5')]), address }
      await reverts(operator.simulateContract(call), 'TokensNotReceived')
    }))

  test('only an operator acts, only the admin sets, only a pauser pauses', () =>
    isolated(async () => {
      const nfts = await give(user, 1n)
      const refused = 'AccessControlUnauthorizedAccount'
      for (const caller of [user, admin]) {
        await reverts(tryBurn([order('x'), user.account.address, nfts], caller), refused)
        await reverts(tryAccelerate([order('x'), user.account.address, 1n], caller), refused)
      }
      const by = { address: controller, abi } as const
      await reverts(operator.simulateContract({ ...by, functionName: 'setCraftSeconds', args: [1n] }), refused)
      await reverts(operator.simulateContract({ ...by, functionName: 'setSecondsPerToken', args: [1n] }), refused)
      await reverts(
        operator.simulateContract({ ...by, functionName: 'setCollectionAllowed', args: [token, true] }),
        refused,
      )
      await reverts(operator.simulateContract({ ...by, functionName: 'pause' }), refused)
      await reverts(operator.simulateContract({ ...by, functionName: 'unpause' }), refused)
    }))

  test('while paused nothing new happens, and what was done is still acknowledged', () =>
    isolated(async () => {
      const nfts = await give(user, 2n)
      const done = [order('done'), user.account.address, nfts.slice(0, 1)] as const
      await burn(done)
      await mined(admin, admin.writeContract({ address: controller, abi, functionName: 'pause' }))
      await reverts(tryBurn([order('new'), user.account.address, nfts.slice(1)]), 'EnforcedPause')
      await reverts(tryAccelerate([order('new'), user.account.address, parseEther('1')]), 'EnforcedPause')
      assert.deepEqual((await tryBurn(done)).result, [1n])
      await mined(admin, admin.writeContract({ address: controller, abi, functionName: 'unpause' }))
      await burn([order('new'), user.account.address, nfts.slice(1)])
    }))

  test('the admin changes what later timers take and what a token buys', () =>
    isolated(async () => {
      const nfts = await give(user, 1n)
      await mined(
        admin,
        admin.writeContract({ address: controller, abi, functionName: 'setCraftSeconds', args: [10n] }),
      )
      await mined(
        admin,
        admin.writeContract({ address: controller, abi, functionName: 'setSecondsPerToken', args: [3n] }),
      )
      assert.equal(await admin.readContract({ address: controller, abi, functionName: 'craftSeconds' }), 10n)
      assert.equal(await admin.readContract({ address: controller, abi, functionName: 'secondsPerToken' }), 3n)
      await burn([order('b'), user.account.address, nfts])
      const [before] = await timersOf(user.account.address)
      assert.equal(before!.readyAt - before!.startedAt, 10n)
      await accelerate([order('a'), user.account.address, parseEther('1')])
      const [timer] = await timersOf(user.account.address)
      assert.equal(before!.readyAt - timer!.readyAt, 3n)
    }))

  test('nothing in its interface can send a token out', () => {
    verifies('D7.7')
    const changing = craftController.abi.flatMap((item) =>
      item.type === 'function' && item.stateMutability !== 'view' ? [item.name] : [],
    )
    assert.deepEqual(changing.sort(), [
      'accelerate',
      'burn',
      'closeOrder',
      'grantRole',
      'pause',
      'renounceRole',
      'revokeRole',
      'setCollectionAllowed',
      'setCraftSeconds',
      'setSecondsPerToken',
      'unpause',
    ])
  })
})

import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import { type Command, type CommandCall, operatorOptions, UsageFault } from './command.ts'
import type { Output } from './output.ts'
import { membersOf, type Said, said, typed, windowTerms, withLineThatWorks } from './said-options.ts'
import { operatorClient } from './shop-client.ts'
import { assertSigning, signingOptions, signOrWrite } from './sign-or-write.ts'
import { byOf, byOption } from './table-file.ts'

type Prepared = JsonObject & {
  readonly saleId: number
  readonly chainId: number
  readonly to: Address
  readonly data: Hex
  readonly before: JsonObject | null
  readonly after: JsonObject & { readonly name: string; readonly price: string; readonly supply: string }
}

const terms: Readonly<Record<string, Said>> = {
  name: said('name', typed.text, { value: 'text', example: 'Season Pass', about: 'its name on the chain' }),
  price: said('price', typed.text, { value: 'dollars', example: '9.00', about: 'for one piece, such as 9.00' }),
  supply: said('supply', typed.whole, {
    value: 'n',
    example: '1000',
    about: 'how many there ever are, minted ones among them',
  }),
  uri: said('uri', typed.text, {
    value: 'url',
    example: 'https://example.com/pass.json',
    about: 'metadata of its tokens: https, ipfs, ar or data',
  }),
  ...windowTerms,
}

const others = [...Object.keys(signingOptions), 'by']

const options = { ...operatorOptions, ...terms, ...signingOptions, ...byOption }

const WHO =
  'The lot manager of the contract decides this, and not the shop: it is signed with that key here, or written down for its Safe. The shop\nshows it within two seconds after it is mined; whoever was quoted another price pays that one until the quote ends.'

export const addLot: Command = {
  args: '<lot>',
  about: `Makes a new lot on the chain; it needs a name, a price, a supply and metadata. ${WHO}`,
  options,
  examples: [
    [
      'sutler lots add 400 --name "Season Pass" --price 9.00 --supply 1000 --uri https://example.com/pass.json --unsigned lot.json',
      'for a Safe to sign',
    ],
  ],
  run: (call) => change(call, 'lots add'),
}

export const changeLot: Command = {
  args: '<lot>',
  about: `Changes price, supply, window, name or metadata of a lot on the chain; what is not named stays as it is. ${WHO}`,
  options,
  examples: [
    ['sutler lots change 400 --price 8.00 --key-file lot-manager.key --by mara', 'signed here'],
    ['sutler lots change 400 --closes 2026-12-31T23:00:00Z --unsigned lot.json', 'for a Safe to sign'],
  ],
  async run(call) {
    if (Object.keys(membersOf(call, terms)).length === 0)
      throw new UsageFault('say what to change, for example --price 8.00', 'lots change')
    return change(call, 'lots change')
  },
}

async function change(call: CommandCall, command: 'lots add' | 'lots change'): Promise<Output> {
  assertSigning(call, command)
  const client = operatorClient(call)
  const saleId = call.args[0] ?? ''
  await assertExists(call, saleId, command)
  const path = `/operator/lots/${encodeURIComponent(saleId)}/transaction`
  const prepared = await withLineThatWorks(call, { command, options: terms, others }, () =>
    client.post<Prepared>(path, { ...membersOf(call, terms), ...byOf(call) }),
  )
  const { name, price, supply } = prepared.after
  const what = `set lot ${saleId} "${name}": ${price} dollars, ${supply} pieces`
  const brought = await signOrWrite(call, { ...prepared, what })
  const text =
    brought.kind === 'sent'
      ? `${what}: mined as ${brought.transaction}`
      : `${what}: unsigned in ${brought.file}; import it in the Transaction Builder of the lot manager's Safe. Nothing was sent`
  return { json: { ...prepared, ...brought }, text }
}

/** A mistyped number must not make a new lot, or overwrite another one. */
async function assertExists(call: CommandCall, saleId: string, command: 'lots add' | 'lots change'): Promise<void> {
  const { lots } = await operatorClient(call).get<{ lots: { saleId: number }[] }>('/operator/lots')
  const isThere = lots.some((lot) => String(lot.saleId) === saleId)
  if (isThere === (command === 'lots change')) return
  const works = isThere ? `sutler lots change ${saleId}` : `sutler lots add ${saleId}`
  const detail = isThere ? `the contract has a lot ${saleId} already` : `the contract has no lot ${saleId}`
  throw new UsageFault(`${detail}; nothing was sent. To ${isThere ? 'change' : 'make'} it: ${works}`, command)
}

import { existsSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { stringify } from '../base/json.ts'
import { type Jwks, readJwks } from '../base/jws.ts'
import { verifyReceipt } from '../checkout/receipt.ts'
import { type Command, type CommandCall, CommandRefusal, shopOptions } from './command.ts'
import { publicClient } from './shop-client.ts'

type Claims = {
  readonly iss: string
  readonly good: string
  readonly payment: {
    readonly amount: string
    readonly network: string
    readonly payer: string
    readonly transaction: string
  }
  readonly delivery: { readonly at: string; readonly transaction: string | null }
}

export const verifyReceiptCommand: Command = {
  args: '<receipt>',
  about:
    'Checks the signature of a delivery receipt and shows what was signed. <receipt> is the text itself, a file, or - for the standard\ninput. The keys come from --jwks (a saved file works without a network) or from the shop at --url; never from the receipt, which could\nname anybody.',
  options: {
    ...shopOptions,
    jwks: { value: 'file', about: "the shop's keys, saved from /.well-known/jwks.json" },
  },
  examples: [
    ['curl -s https://shop.example.com/.well-known/jwks.json > keys.json', 'once, while there is a network'],
    ['sutler verify-receipt receipt.jws --jwks keys.json', 'anywhere, at any time'],
  ],
  async run(call) {
    const [given = ''] = call.args
    const receipt = await readReceipt(given)
    const claims = checked(receipt, await keysFor(call))
    const { iss, good, payment, delivery } = claims as unknown as Claims
    const { table, style } = call.terminal
    return {
      json: { valid: true, claims },
      text: [
        `${style.green('valid')}: signed by ${iss}`,
        table([
          ['  good', good],
          ['  paid', `${payment.amount} atomic units on ${payment.network} by ${payment.payer}`],
          ['  payment', payment.transaction],
          ['  delivered', `${delivery.at}${delivery.transaction ? ` by ${delivery.transaction}` : ''}`],
        ]),
      ].join('\n'),
    }
  },
}

async function readReceipt(given: string): Promise<string> {
  const content = given === '-' ? await text(process.stdin) : existsSync(given) ? readFileSync(given, 'utf8') : given
  return content.trim()
}

async function keysFor(call: CommandCall): Promise<Jwks> {
  const file = call.option('jwks')
  const content =
    file === undefined ? stringify(await publicClient(call).get('/.well-known/jwks.json')) : readFile(file)
  try {
    return readJwks(content)
  } catch {
    throw new CommandRefusal('invalid_jwks', `${file ?? 'what the shop answers'} is not a set of public P-256 keys`)
  }
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new CommandRefusal('invalid_jwks', `the keys cannot be read from ${file}: ${(cause as Error).message}`, {
      cause,
    })
  }
}

function checked(receipt: string, keys: Jwks) {
  try {
    return verifyReceipt(receipt, keys)
  } catch (cause) {
    const { message } = cause as Error
    throw new CommandRefusal('receipt_invalid', `this receipt is not valid: ${message}`, { cause })
  }
}

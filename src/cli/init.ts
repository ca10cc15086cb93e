import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { systemRandom } from '../base/id.ts'
import { DEPLOYER, type KeyRole } from '../config/key-roles.ts'
import {
  contractNetworks,
  keysOf,
  networkFor,
  networkNames,
  networksTrouble,
  openingText,
  type ShopOpening,
} from '../config/opening.ts'
import { surfaceNames } from '../config/surfaces.ts'
import { createFile } from '../setup/durable-file.ts'
import { keyFile, type MadeKey, makeKey } from '../setup/key-files.ts'
import { type Command, type CommandCall, CommandRefusal, UsageFault } from './command.ts'
import { readAddressOption } from './contracts/workplace.ts'
import type { Output } from './output.ts'
import type { Terminal } from './terminal.ts'

const KEYS = 'keys'
/** Proposed: what the shop is paid there goes back from there, and no float can be drained. */
const TREASURY = 'the treasury of each'

export const init: Command = {
  args: '',
  about: [
    'Begins a shop for real money in this folder: keys and secrets as files that only you can read, and a complete .env. Then it prints which',
    'address needs what, and the next command. What is not given by an option is asked for; with --yes nothing is asked, and what has a',
    'default takes it. Nothing that is there is ever overwritten.',
  ].join('\n'),
  options: {
    url: { value: 'url', about: 'the public address of the shop, as agents write it' },
    networks: { value: 'names', about: `where it is paid, separated by commas: ${networkNames.join(', ')}` },
    'pay-to': {
      value: 'addresses',
      about:
        'cold addresses that receive the money: one for all, or network=address for each; else the treasury keys do',
    },
    rpc: { value: 'urls', about: 'network=address of a node, separated by commas; two providers for each network' },
    surfaces: { value: 'names', about: `what is sold: ${surfaceNames.join(', ')}; else all` },
    'contracts-on': { value: 'network', about: 'where the contracts stand; else where it is paid' },
    database: { value: 'postgres://…', about: 'PostgreSQL; else the store is embedded, for one process' },
    name: { value: 'name', about: 'what the shop is called; else Sutler' },
    contact: { value: 'email', about: 'where buyers and directories find you' },
    yes: { about: 'ask nothing' },
  },
  examples: [
    ['sutler init', 'asks for everything'],
    [
      'sutler init --yes --url https://shop.example.com --networks base,tempo --rpc base=https://a…,base=https://b…,tempo=https://c…,tempo=https://d…',
      'without a question',
    ],
  ],
  async run(call) {
    for (const file of ['.env'])
      if (existsSync(file))
        throw new CommandRefusal(
          'exists',
          `${resolve(file)} is there already, and nothing was made or changed; run \`sutler init\` in an empty folder, or go on with \`sutler doctor\``,
        )
    const opening = await readOpening(call)
    const made = keysOf(opening).map((role) => ({
      role,
      ...makeKey(keyFile(KEYS, role.role), role.kind, systemRandom),
    }))
    const needsContracts = ['sale', 'craft'].some((surface) => opening.surfaces.includes(surface))
    const deployer = needsContracts ? makeKey(keyFile(KEYS, DEPLOYER), 'account', systemRandom) : null
    // Last, and by a name that nobody has: a folder with an .env has everything that it names.
    createFile(
      resolve('.env'),
      openingText(
        opening,
        (role) => keyFile(KEYS, role),
        (name) => made.find(({ role }) => role.role === name)!.address!,
      ),
      { mode: 0o600 },
    )
    return report(call.terminal, opening, made, deployer)
  },
}

/** Asks for what was not given. */
async function readOpening(call: CommandCall): Promise<ShopOpening> {
  const ask = asker(call)
  try {
    const baseUrl = readUrl(await ask('url', 'Public address of the shop (https://…)', null), '--url')
    const networks = splitList(await ask('networks', `Networks (${networkNames.join(', ')})`, 'base,tempo'))
    const trouble = networksTrouble(networks)
    if (trouble !== null) throw new UsageFault(`${trouble}; nothing was made`, 'init')
    const payTo = await ask('pay-to', 'Cold address that receives the money; refunds then need a float', TREASURY)
    const nodes = readNodes(await ask('rpc', 'RPC addresses (network=https://…, separated by commas)', null))
    const surfaces = splitList(
      await ask('surfaces', `What is sold (${surfaceNames.join(', ')})`, surfaceNames.join(',')),
    )
    const odd = surfaces.find((surface) => !(surfaceNames as readonly string[]).includes(surface))
    if (odd !== undefined)
      throw new UsageFault(`there is no surface ${odd}; there are ${surfaceNames.join(', ')}; nothing was made`, 'init')
    const game = call.option('contracts-on') ?? networks.find((name) => contractNetworks.includes(name))
    if (game === undefined || !contractNetworks.includes(game))
      throw new UsageFault(
        `say with --contracts-on where the contracts stand: ${contractNetworks.join(' or ')}; nothing was made`,
        'init',
      )
    return {
      baseUrl,
      name: call.option('name') ?? 'Sutler',
      contactEmail: call.option('contact') ?? null,
      databaseUrl: call.option('database') ?? null,
      surfaces,
      networks: networks.map((name) => ({
        name,
        rpcUrls: nodesOf(nodes, name),
        payTo: payTo === TREASURY ? null : recipientOf(payTo, name),
      })),
      game: { name: game, rpcUrls: nodesOf(nodes, game) },
    }
  } finally {
    ask.close()
  }
}

type Asker = { (option: string, question: string, fallback: string | null): Promise<string>; close(): void }

function asker(call: CommandCall): Asker {
  const { stdin, stderr } = process
  const lines = stdin.isTTY && !call.flag('yes') ? createInterface({ input: stdin, output: stderr }) : null
  const ask = async (option: string, question: string, fallback: string | null): Promise<string> => {
    const given = call.option(option)
    if (given !== undefined) return given
    const typed = lines
      ? (await lines.question(`${question}${fallback === null ? '' : ` [${fallback}]`}: `)).trim()
      : ''
    const answer = typed === '' ? fallback : typed
    if (answer === null)
      throw new UsageFault(`--${option} is missing (${question.toLowerCase()}); nothing was made`, 'init')
    return answer
  }
  return Object.assign(ask, { close: () => lines?.close() })
}

function splitList(text: string): readonly string[] {
  return [...new Set(text.split(',').map((part) => part.trim()))].filter((part) => part !== '')
}

function readUrl(text: string, what: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new UsageFault(`${what} ${text} is not an address such as https://shop.example.com; nothing was made`, 'init')
  return text.replace(/\/+$/, '')
}

function readNodes(text: string): readonly { readonly network: string; readonly url: string }[] {
  return splitList(text).map((part) => {
    const at = part.indexOf('=')
    const network = part.slice(0, Math.max(0, at))
    if (!networkNames.includes(network))
      throw new UsageFault(`--rpc takes network=address, such as base=https://…, not ${part}; nothing was made`, 'init')
    return { network, url: readUrl(part.slice(at + 1), `--rpc ${network}=`) }
  })
}

function nodesOf(nodes: ReturnType<typeof readNodes>, name: string): readonly string[] {
  const urls = nodes.filter(({ network }) => network === name).map(({ url }) => url)
  if (urls.length === 0)
    throw new UsageFault(
      `no node of ${name} is named; add --rpc ${name}=https://…,${name}=https://… ; nothing was made`,
      'init',
    )
  return urls
}

function recipientOf(text: string, network: string) {
  const parts = splitList(text)
  const own = parts.find((part) => part.startsWith(`${network}=`))?.slice(network.length + 1)
  const common = parts.find((part) => !part.includes('='))
  return readAddressOption(own ?? common ?? '', `--pay-to for ${network}:`, 'init')
}

type Made = MadeKey & { readonly role: KeyRole }

function report(terminal: Terminal, opening: ShopOpening, made: readonly Made[], deployer: MadeKey | null): Output {
  const { table, style } = terminal
  const accounts = made.filter(({ address }) => address !== null)
  const rows = accounts.map(({ role, address }) => ({
    role: role.role,
    address: address!,
    network: networkFor(role, opening),
    needs: `${role.keeps}${role.contractRole ? '; its role, from `sutler contracts deploy`' : ''}`,
  }))
  const all = deployer
    ? [
        ...rows,
        {
          role: DEPLOYER,
          address: deployer.address!,
          network: opening.game.name,
          needs: 'gas for the contracts, once',
        },
      ]
    : rows
  const next = nextLine(opening, deployer)
  return {
    json: { env: resolve('.env'), keys: all, files: made.map(({ path }) => path), next },
    text: [
      `${style.bold('.env')} and ${made.length + (deployer ? 1 : 0)} files in ${style.bold(KEYS)} are made; only you can read them. Keep a copy of both elsewhere.`,
      '',
      table(all.map(({ role, address, network, needs }) => [`  ${role}`, address, network ?? '', needs])),
      '',
      `Next: send each address what it needs, then ${style.cyan(next)}`,
    ].join('\n'),
  }
}

function nextLine({ surfaces }: ShopOpening, deployer: MadeKey | null): string {
  if (!deployer) return 'sutler doctor'
  const craft = surfaces.includes('craft') ? ' --craft-token <address or Name:SYMBOL>' : ''
  return `sutler contracts deploy --key-file ${deployer.path} --owner <cold address>${craft}`
}

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Address } from '../../base/address.ts'
import { systemRandom } from '../../base/id.ts'
import { type KeyRole, keyFileOf } from '../../config/key-roles.ts'
import { readKeyring } from '../../config/keyring.ts'
import { addressOf } from '../../outbox/wallet.ts'
import { changeOption } from '../../setup/env-file.ts'
import { keyFile, makeKey } from '../../setup/key-files.ts'
import { openSendsOf } from '../../store/sends/open-sends.ts'
import { type Command, type CommandCall, CommandRefusal, UsageFault } from '../command.ts'
import { storeConfigOf, withStore } from '../store-access.ts'
import { keyOptions, roleNamed } from './make.ts'

export const rotateKey: Command = {
  args: '<role>',
  about: [
    'Makes a new key for one role and names it in .env, in the place of the old one, whose file stays. Running replicas use the old key until',
    'they are started again. Refused while the old key has signed for orders that are not finished: only it could sign for them again.',
  ].join('\n'),
  options: keyOptions,
  examples: [['sutler keys rotate minter', 'then give the new key its role, and restart the replicas']],
  async run(call) {
    const name = call.args[0]!
    const role = roleNamed(name, 'keys rotate')
    if (role === null)
      throw new UsageFault(
        'the deployer has no place in the shop; make another with `sutler keys make deployer --folder other`',
        'keys rotate',
      )
    const file = resolve(call.option('env') ?? '.env')
    const old = oldFile(call, role, file)
    const { key } = readKeyring(call.env).keys.find((one) => one.role.role === name)!
    const address = key ? addressOf(key) : null
    if (address !== null) await assertIdle(call, name, address)
    const path = nextFile(call.option('folder') ?? 'keys', name)
    const made = makeKey(path, role.kind, systemRandom)
    changeOption(file, `${role.option}_FILE`, path)
    const steps = stepsAfter(role, made.address, address)
    return {
      json: { role: name, path, address: made.address, old, oldAddress: address, next: steps },
      text: [
        `${path} is made${made.address ? `: ${made.address}` : ''}, and ${file} names it; ${old} stays`,
        'Next, in this order:',
        ...steps.map((step, index) => `  ${index + 1}. ${step}`),
      ].join('\n'),
    }
  },
}

/** Only what lies in a file can be changed here: what the environment says is somebody else's to change. */
function oldFile({ env }: CommandCall, role: KeyRole, file: string): string {
  const old = keyFileOf(env, role)
  if (old !== null && existsSync(file)) return old
  throw new CommandRefusal(
    'not_in_a_file',
    `the key of the ${role.role} is not named by ${role.option}_FILE in ${file}, so nothing was made or changed; ` +
      `change ${role.option} where it is set, or move the key into a file first`,
  )
}

async function assertIdle(call: CommandCall, role: string, address: Address): Promise<void> {
  const { count, example } = await withStore(storeConfigOf(call.env), (database) =>
    openSendsOf(database, address),
  ).catch((error: unknown) => {
    // There is no store before the first start, and so nothing that was signed.
    if (error instanceof CommandRefusal && error.code === 'no_store') return { count: 0, example: null }
    throw error
  })
  if (count === 0) return
  throw new CommandRefusal(
    'open_work',
    `${address} has signed for ${count} orders that are not finished, such as ${example}; nothing was made or changed. ` +
      `Wait until \`sutler orders --open\` shows them no more, then run \`sutler keys rotate ${role}\` again`,
  )
}

/** The first name that nobody has. */
function nextFile(folder: string, role: string): string {
  for (let number = 2; ; number++) {
    const path = keyFile(folder, `${role}-${number}`)
    if (!existsSync(path)) return path
  }
}

function stepsAfter(
  { kind, contractRole, keeps, hasFloat, previousOption }: KeyRole,
  address: Address | null,
  old: Address | null,
): readonly string[] {
  if (kind === 'receipts') return ['add the old public key to SUTLER_RECEIPT_RETIRED_KEYS', 'restart all replicas']
  if (previousOption !== null)
    return [`name the old file in ${previousOption}_FILE for ten minutes`, 'restart all replicas']
  if (kind === 'text') return ['restart all replicas']
  return [
    `send ${address} ${keeps}`,
    ...(hasFloat ? [`if customers pay ${old} (…_PAY_TO, …_RECIPIENT), name ${address} there`] : []),
    ...(contractRole ? [`sutler contracts grant ${contractRole} ${address}`] : []),
    'restart all replicas, one after another, when `sutler orders --open` is empty',
    ...(contractRole ? [`sutler contracts revoke ${contractRole} ${old}`] : []),
    `sweep what is left on ${old}`,
  ]
}

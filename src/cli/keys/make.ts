import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemRandom } from '../../base/id.ts'
import { DEPLOYER, isKeySet, type KeyRole, keyRoles } from '../../config/key-roles.ts'
import { fillOption } from '../../setup/env-file.ts'
import { keyFile, makeKey } from '../../setup/key-files.ts'
import { type Command, CommandRefusal, type Option, UsageFault } from '../command.ts'

export const keyOptions: Readonly<Record<string, Option>> = {
  folder: { value: 'folder', about: 'where key files lie; else keys here' },
  env: { value: 'file', about: 'the configuration that names them; else .env here' },
}

const roleNames = keyRoles.map(({ role }) => role)

export const makeKeyCommand: Command = {
  args: '<role>',
  about: `Makes a key or secret in a file that only you can read, and names it in .env. Roles: ${roleNames.join(', ')};\nand \`${DEPLOYER}\`, which makes the contracts and which the shop never has. A key that is there is left as it is.`,
  options: keyOptions,
  examples: [
    ['sutler keys make deployer', 'before `sutler contracts deploy`'],
    ['sutler keys make crafter', 'crafting is sold from now on'],
  ],
  async run(call) {
    const name = call.args[0]!
    const role = roleNamed(name, 'keys make')
    if (role && isKeySet(call.env, role))
      throw new CommandRefusal(
        'exists',
        `the ${name} has a key already, and nothing was made; put another in its place with \`sutler keys rotate ${name}\``,
      )
    const path = keyFile(call.option('folder') ?? 'keys', name)
    const { address, made } = makeKey(path, role?.kind ?? 'account', systemRandom)
    const file = call.option('env') ?? '.env'
    const line = role ? `${role.option}_FILE` : null
    const isFilled = line !== null && existsSync(file) && fillOption(resolve(file), line, path) !== 'kept'
    const next = role?.contractRole ? `sutler contracts grant ${role.contractRole} ${address}` : null
    return {
      json: { role: name, path, address, made, option: line, next },
      text: [
        `${path} ${made ? 'is made' : 'was there already'}${address ? `: ${address}` : ''}`,
        ...(line === null ? [] : [isFilled ? `${file} names it` : `set ${line}=${path}`]),
        ...(next === null ? [] : [`Next: send it gas, and when the contract is there: ${next}`]),
      ].join('\n'),
    }
  },
}

/** Null for the deployer. */
export function roleNamed(name: string, command: string): KeyRole | null {
  if (name === DEPLOYER) return null
  const role = keyRoles.find((one) => one.role === name)
  if (role) return role
  throw new UsageFault(
    `there is no role ${name}; there are ${roleNames.join(', ')} and ${DEPLOYER}; nothing was made`,
    command,
  )
}

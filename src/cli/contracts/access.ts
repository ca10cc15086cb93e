import { sameAddress } from '../../base/address.ts'
import {
  collectionStep,
  grantStep,
  pauseStep,
  ROLE_NAMES,
  type RoleName,
  type RolePlace,
  revokeStep,
  roleOn,
} from '../../setup/contract-roles.ts'
import { SetupFault } from '../../setup/fault.ts'
import type { Step } from '../../setup/step.ts'
import { type Command, type CommandCall, type Option, UsageFault } from '../command.ts'
import type { Output } from '../output.ts'
import { configuredPlaces } from './status.ts'
import {
  bringAbout,
  contractSigningOptions,
  openWorkplace,
  outcomeJson,
  outcomeText,
  readAddressOption,
  type Workplace,
  withCrew,
} from './workplace.ts'

const which: Readonly<Record<string, Option>> = {
  contract: { value: 'sale|craft', about: 'on this one only; else on all that know the role' },
}

export const grantRole: Command = {
  args: '<role> <address>',
  about: `Gives an address a role on the contracts: ${ROLE_NAMES.join(', ')}; or \`collection\`, so that tokens of that contract may be burned.\nSigned by the owner's key, or written down unsigned for its Safe.`,
  options: { ...contractSigningOptions, ...which },
  examples: [
    ['sutler contracts grant minter 0x52c7… --key-file owner.key', 'before a new minter key is used'],
    ['sutler contracts grant collection 0x52c7… --unsigned allow.json', 'one more collection, by the Safe'],
  ],
  run: (call) => changeRole(call, 'grant'),
}

export const revokeRole: Command = {
  args: '<role> <address>',
  about: `Takes a role away: ${ROLE_NAMES.join(', ')}; or \`collection\`. The key that signs cannot take the admin's role from itself: then nobody\nmight be left who has it.`,
  options: { ...contractSigningOptions, ...which },
  examples: [
    ['sutler contracts revoke minter 0x52c7… --key-file owner.key', 'after the old minter key has finished its work'],
  ],
  run: (call) => changeRole(call, 'revoke'),
}

export const pauseContracts: Command = {
  args: '[contract]',
  about:
    'Stops mints and craft actions at once: `sale`, `craft`, or both. What was paid for waits, and is delivered or refunded afterwards.',
  options: contractSigningOptions,
  examples: [['sutler contracts pause --key-file owner.key', 'a hot key has leaked']],
  run: (call) => changePause(call, 'pause'),
}

export const unpauseContracts: Command = {
  args: '[contract]',
  about:
    'Lets mints and craft actions go on after a pause: `sale`, `craft`, or both. What waits is delivered by itself.',
  options: contractSigningOptions,
  examples: [['sutler contracts unpause --key-file owner.key', 'the leaked key is revoked and rotated']],
  run: (call) => changePause(call, 'unpause'),
}

async function changeRole(call: CommandCall, verb: 'grant' | 'revoke'): Promise<Output> {
  const command = `contracts ${verb}`
  const [role = '', text = ''] = call.args
  if (role !== 'collection' && !isRole(role))
    throw new UsageFault(
      `there is no role ${role}; there are ${ROLE_NAMES.join(', ')} and collection; nothing was sent`,
      command,
    )
  const account = readAddressOption(text, 'the account', command)
  const workplace = await openWorkplace(call)
  const places = placesFor(workplace, call.option('contract'), command)
  if (role === 'collection') {
    const controller = places.find(({ name }) => name === 'craft')
    if (!controller) throw missing('SUTLER_CRAFT_CONTROLLER')
    return bring(call, workplace, [collectionStep(controller.address, account, verb === 'grant')])
  }
  const known = places.filter(({ name }) => roleOn(name, role) !== null)
  if (known.length === 0) throw missing(role === 'crafter' ? 'SUTLER_CRAFT_CONTROLLER' : 'SUTLER_SALE_CONTRACT')
  const stepOf = verb === 'grant' ? grantStep : revokeStep
  const guard = verb === 'revoke' && role === 'admin' ? account : null
  return bring(
    call,
    workplace,
    known.map((place) => stepOf({ place, role, account })),
    guard,
  )
}

async function changePause(call: CommandCall, verb: 'pause' | 'unpause'): Promise<Output> {
  const workplace = await openWorkplace(call)
  const places = placesFor(workplace, call.args[0], `contracts ${verb}`)
  return bring(
    call,
    workplace,
    places.map((place) => pauseStep(place, verb)),
  )
}

/** `guarded`: an address that must not be the one that signs. */
async function bring(
  call: CommandCall,
  workplace: Workplace,
  steps: readonly Step[],
  guarded: string | null = null,
): Promise<Output> {
  const title = steps.map(({ id }) => id).join('; ')
  const outcome = await withCrew(call, workplace, async (crew) => {
    if (crew && guarded !== null && sameAddress(crew.wallet.address, guarded))
      throw new SetupFault(
        'last_admin',
        `${guarded} signs this itself, and nobody might be left as admin; nothing was sent. ` +
          `Give the role to another first (\`sutler contracts grant admin 0x…\`), then have that one revoke this`,
      )
    return bringAbout(call, workplace, { crew, steps, title })
  })
  return { json: { chainId: workplace.rpc.chainId, ...outcomeJson(outcome) }, text: outcomeText(outcome) }
}

function placesFor(workplace: Workplace, only: string | undefined, command: string): readonly RolePlace[] {
  if (only !== undefined && only !== 'sale' && only !== 'craft')
    throw new UsageFault(`there is no contract ${only}; there are sale and craft; nothing was sent`, command)
  const places = configuredPlaces(workplace).filter(({ name }) => only === undefined || name === only)
  if (places.length > 0) return places
  throw missing(only === 'craft' ? 'SUTLER_CRAFT_CONTROLLER' : 'SUTLER_SALE_CONTRACT')
}

function missing(option: string): SetupFault {
  return new SetupFault(
    'no_contracts',
    `there is no contract to change: ${option} is not set; nothing was sent. Make it with \`sutler contracts deploy\`, or set the option`,
  )
}

function isRole(text: string): text is RoleName {
  return (ROLE_NAMES as readonly string[]).includes(text)
}

import { FolderFault } from '../base/data-folder.ts'
import { JwsFault } from '../base/jws.ts'
import { isProblem } from '../base/problem.ts'
import { ConfigFault } from '../config/options.ts'
import { DevChainError } from '../devchain/errors.ts'
import { SetupFault } from '../setup/fault.ts'
import { StoreFault } from '../store/fault.ts'
import { CommandRefusal, UsageFault } from './command.ts'

/** Why a command did not do what it was asked, as one line or a short list, and the exit code. */
type CommandFailure = { readonly code: string; readonly message: string; readonly exitCode: 1 | 2 }

/** Everything that can be expected to go wrong has words of its own. Anything else is a fault of ours, and its stack is worth reading. */
export function failureOf(error: unknown): CommandFailure {
  if (error instanceof UsageFault) {
    const help = error.command === null ? 'sutler --help' : `sutler ${error.command} --help`
    return { code: 'usage', message: `${error.message}; see \`${help}\``, exitCode: 2 }
  }
  const known = knownFailure(error)
  if (known) return { ...known, exitCode: 1 }
  const { stack, message } = error instanceof Error ? error : new Error(String(error))
  return { code: 'fault', message: stack ?? message, exitCode: 1 }
}

function knownFailure(error: unknown): { readonly code: string; readonly message: string } | null {
  if (error instanceof ConfigFault) return { code: 'configuration', message: error.message }
  if (isProblem(error) && error.code === 'store_unavailable')
    return { code: error.code, message: `${sentence(error.message)}; check DATABASE_URL, and that the server runs` }
  if (isProblem(error) || isFaultWithWords(error)) return { code: error.code, message: sentence(error.message) }
  if (error instanceof JwsFault) return { code: 'signature', message: sentence(error.message) }
  return listenFailure(error) ?? fileFailure(error)
}

function isFaultWithWords(
  error: unknown,
): error is CommandRefusal | FolderFault | SetupFault | StoreFault | DevChainError {
  return [CommandRefusal, FolderFault, SetupFault, StoreFault, DevChainError].some((kind) => error instanceof kind)
}

/** A file that somebody named, and that cannot be read or written. */
function fileFailure(error: unknown): { readonly code: string; readonly message: string } | null {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined || !(error instanceof Error)) return null
  return path === undefined && code !== 'EISDIR' ? null : { code: 'file', message: sentence(error.message) }
}

function listenFailure(error: unknown): { readonly code: string; readonly message: string } | null {
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  if (syscall !== 'listen' || code === undefined) return null
  if (code === 'EADDRINUSE')
    return {
      code: 'port_in_use',
      message: `port ${port} is in use; stop whatever listens there, or choose another with PORT=${(port ?? 4020) + 1}`,
    }
  const what = code === 'EACCES' ? `port ${port} needs more rights; choose one above 1023 with PORT` : ''
  const where = `${address} is not an address of this machine; set HOST to one that is`
  return { code: 'cannot_listen', message: what || where }
}

function sentence(message: string): string {
  return `${message.charAt(0).toLowerCase()}${message.slice(1)}`.replace(/\.$/, '')
}

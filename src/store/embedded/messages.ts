import type { LogLevel } from '../../base/log.ts'
import type { StoreFaultCode } from '../fault.ts'

/** What the worker that runs the engine is told. Bytes are PostgreSQL's wire protocol. */
export type ToWorker =
  | { readonly kind: 'bytes'; readonly connection: number; readonly bytes: Uint8Array<ArrayBuffer> }
  /** This connection is gone: roll back and forget its session. */
  | { readonly kind: 'hang-up' }
  | { readonly kind: 'close' }

export type FromWorker =
  | { readonly kind: 'ready'; readonly version: string }
  | { readonly kind: 'refused'; readonly code: StoreFaultCode | 'store_full'; readonly message: string }
  | { readonly kind: 'bytes'; readonly connection: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | {
      readonly kind: 'log'
      readonly level: LogLevel
      readonly message: string
      readonly fields?: Record<string, unknown>
    }
  /** The engine cannot go on, for instance after a failed fsync. The thread ends right after this. */
  | { readonly kind: 'died'; readonly reason: string }

export type WorkerOptions = { readonly dataDir: string }

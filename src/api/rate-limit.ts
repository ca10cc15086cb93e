import type { HttpContext } from './exchange.ts'

export type Bucket = 'unpaid' | 'quote' | 'read'

/** Who calls how often. `take` throws 429 when an allowance is used up. */
export type RateLimiter = { take(bucket: Bucket, c: HttpContext): void }

export const noLimiter: RateLimiter = { take() {} }

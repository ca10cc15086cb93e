import type { RequirementId } from '../requirements.ts'

/**
 * Stands first in a test, and names the statements of the interface that the test would fail without. It does nothing when it runs: the
 * types know the ids, and test/requirements.test.ts reads the calls from the sources.
 */
export function verifies(..._ids: readonly [RequirementId, ...RequirementId[]]): void {}

/**
 * Stands first in a test, and names the statements of docs/contract.md, or the threats of docs/threats.md, that the test would fail without.
 * It does nothing when it runs: test/requirements.test.ts and test/law.test.ts read the calls from the sources.
 */
export function verifies(..._ids: readonly [string, ...string[]]): void {}

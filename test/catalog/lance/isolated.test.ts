import { afterAll, beforeAll } from 'vitest'
import { howLanceRuns } from '../../support/lance-package.ts'

/* The tests of rows of Lance once more, where a process of its own runs Lance. */

beforeAll(() => {
  // A call that hangs is told before the test ends.
  howLanceRuns.lance = { isolate: true, callMillis: 45_000 }
})
afterAll(() => {
  delete howLanceRuns.lance
})

await import('./rows.test.ts')
await import('./changes.test.ts')
await import('./creates.test.ts')
await import('./indexes.test.ts')
await import('./differences.test.ts')
await import('./columns.test.ts')
await import('./expressions.test.ts')
await import('./suite.test.ts')

import { test as base, describe } from 'vitest'
import type { LocalCatalog } from '../../../../src/tabularium/index.ts'
import { beSound, callForEver, fixtures } from './amid-calls.ts'

/* A typical suite of a user. test/testing/hostile/timeouts.test.ts runs it. */

/** Vitest does not wait for a fixture after a timeout, so two tests could share a directory. */
const { 'a directory': _, ...others } = fixtures('')

describe.each(Object.entries(others))('%s', (_name, give) => {
  const test = base.extend<{ catalog: LocalCatalog }>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures it needs
    catalog: ({}, use) => give(use),
  })

  for (const n of [1, 2]) {
    test(`times out ${n}`, { timeout: 400 }, ({ catalog, signal }) => callForEver(catalog, signal))

    test(`is sound ${n}`, { timeout: 100_000 }, ({ catalog }) => beSound(catalog, true))
  }
})

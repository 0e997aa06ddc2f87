import { afterEach, beforeEach, describe, test } from 'node:test'
import type { LocalCatalog } from '../../../../src/tabularium/index.ts'
import { beSound, callForEver, fixtures } from './amid-calls.ts'

/* A typical suite of a user. test/testing/hostile/timeouts.test.ts runs it. */

const { CATALOG_FOLDER: folder } = process.env

for (const [name, give] of Object.entries(fixtures(folder!))) {
  describe(name, () => {
    let catalog: LocalCatalog
    let close: () => Promise<void>

    beforeEach(
      () =>
        new Promise<void>((resolve, reject) => {
          let end: () => void
          const ended = new Promise<void>((done) => {
            end = done
          })
          const closed = give(async (given) => {
            catalog = given
            resolve()
            await ended
          })
          closed.catch(reject)
          close = () => {
            end()
            return closed
          }
        }),
    )
    afterEach(() => close())

    for (const n of [1, 2]) {
      test(`times out ${n}`, { timeout: 400 }, ({ signal }) => callForEver(catalog, signal))

      test(`is sound ${n}`, { timeout: 100_000 }, () => beSound(catalog, name !== 'a directory'))
    }
  })
}

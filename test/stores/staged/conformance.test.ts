import { describe, test } from 'vitest'
import type { CatalogError } from '../../../src/base/errors.ts'
import { closedError } from '../../../src/base/store/body.ts'
import type { Reader, Store, Writer } from '../../../src/base/store/store.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { StagedStore } from '../../../src/stores/staged/staged-store.ts'
import { storeSuite } from '../../../src/testing/suites/store-suite.ts'

/** A store whose writes are staged, and now and then committed below: reads merge what is there and what is staged. */
function partlyCommitted(every: number): Store {
  const below = memoryStore()
  let staged = new StagedStore(below)
  let writes = 0
  let running = 0
  const underWay = new Set<Promise<unknown>>()
  const write = async <T>(body: (writer: Writer) => T) => {
    running++
    try {
      return await staged.write(body)
    } finally {
      running--
      // Those still running would stage what nobody commits.
      if (++writes >= every && running === 0) {
        writes = 0
        const full = staged
        staged = new StagedStore(below)
        await below.write((writer) => full.apply(writer))
      }
    }
  }
  let closed: CatalogError | undefined
  return {
    features: staged.features,
    read: async <T>(body: (reader: Reader) => T) => {
      if (closed) throw closed
      return staged.read(body)
    },
    async write(body) {
      if (closed) throw closed
      const written = write(body)
      underWay.add(written)
      return written
    },
    async close() {
      closed = closedError()
      await Promise.allSettled(underWay)
    },
  }
}

storeSuite({ describe, test }, () => ({ open: () => partlyCommitted(Number.POSITIVE_INFINITY) }), {
  name: 'a store whose writes are all staged',
})
storeSuite({ describe, test }, () => ({ open: () => partlyCommitted(3) }), {
  name: 'a store whose writes are committed at every third',
})

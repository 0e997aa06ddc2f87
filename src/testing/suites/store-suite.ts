import assert from 'node:assert/strict'
import type { Store } from '../../base/store/store.ts'
import { refused } from './checks.ts'
import { features, guesses, states, turns } from './store/features.ts'
import { histories } from './store/histories.ts'
import { keys } from './store/keys.ts'
import { misuse } from './store/misuse.ts'
import { ranges } from './store/ranges.ts'
import type { StorePlace, StoreTrial } from './store/trial.ts'
import { records, values } from './store/values.ts'
import { writes } from './store/writes.ts'
import { type Runner, register, rule, type Topic } from './suite.ts'

const closing: Topic<StoreTrial> = {
  name: 'closing',
  cases: [
    rule(
      'store.close',
      'Store.close',
      'Closing finishes what is under way, and may be repeated.',
      [],
      async ({ store }: StoreTrial) => {
        const writes = Array.from({ length: 20 }, (_, i) =>
          store.write((tx) => {
            tx.put(['n', i], i)
            return i
          }),
        )
        const closing = store.close()
        await Promise.all([closing, store.close()])
        assert.deepEqual(
          await Promise.all(writes),
          Array.from({ length: 20 }, (_, i) => i),
        )
        await store.close()
      },
    ),

    rule(
      'store.closed',
      'Store.close',
      'A closed store refuses everything as ServiceUnavailable.',
      [],
      async ({ store }: StoreTrial) => {
        const closing = store.close()
        const calls = [() => store.read((tx) => tx.get(['a'])), () => store.write((tx) => tx.put(['a'], 1))]
        const allRefused = () =>
          Promise.all(calls.map((call) => refused(call(), 'ServiceUnavailable', /closed/)))
        await allRefused()
        await closing
        await allRefused()
      },
    ),
  ],
}

export interface StoreSuiteOptions {
  /** The name of the group of cases. Default: `the store`. */
  readonly name?: string
  /** The seed of the random histories. Default: 1, so that every run is the same. */
  readonly seed?: number
  /** The number of random histories. Default: 60. */
  readonly histories?: number
}

export const storeTopics = [
  records,
  writes,
  states,
  ranges,
  keys,
  values,
  histories,
  misuse,
  closing,
  features,
  turns,
  guesses,
] as const

/**
 * Registers the cases that every {@link Store} must pass. Each case opens a store in its own place.
 *
 * The suite tests what a store promises in its `features`. Where a feature that is not promised must be absent or
 * refused, the suite tests that, too.
 *
 * ```ts
 * import { describe, test } from 'node:test'
 * import { storeSuite } from 'tabularium/testing'
 *
 * storeSuite({ describe, test }, () => ({ open: () => myStore() }), { name: 'my store' })
 * ```
 */
export function storeSuite(
  runner: Runner,
  place: () => StorePlace | Promise<StorePlace>,
  options: StoreSuiteOptions = {},
): void {
  const { name = 'the store', seed = 1, histories: count = 60 } = options
  register<StoreTrial>(runner, name, storeTopics, async (body) => {
    const own = await place()
    try {
      const store = await own.open()
      try {
        await body({ store, place: own, seed, histories: count })
      } finally {
        await store.close()
      }
    } finally {
      await own.dispose?.()
    }
  })
}

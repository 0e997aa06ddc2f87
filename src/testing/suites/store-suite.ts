import type { Store } from '../../store/store.ts'
import { closing } from './store/closing.ts'
import { features } from './store/features.ts'
import { histories } from './store/histories.ts'
import { keys } from './store/keys.ts'
import { misuse } from './store/misuse.ts'
import { ranges } from './store/ranges.ts'
import { records } from './store/records.ts'
import { states } from './store/states.ts'
import type { StoreTrial } from './store/trial.ts'
import { values } from './store/values.ts'
import { writes } from './store/writes.ts'
import { type Runner, register } from './suite.ts'

/** Somewhere stores can be opened: stores of one place share their records if they are durable. */
export interface StorePlace {
  open(): Store | Promise<Store>
  /**
   * A place that holds what an end of the process, at this moment, would leave of this one: a copy of its
   * files, say. A durable store is judged by it; without it, by closing and opening again alone.
   */
  afterCrash?(): Promise<StorePlace>
  /** Called after each case, when all stores are closed. */
  dispose?(): void | Promise<void>
}

export interface StoreSuiteOptions {
  /** What the group of cases is called. Default: `the store`. */
  readonly name?: string
  /** Where the random histories begin. Default: 1, so that every run is the same. */
  readonly seed?: number
  /** How many random histories there are. Default: 60. */
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
] as const

/**
 * Registers the cases every {@link Store} must pass. Each opens a store in a place of its own.
 *
 * What a store promises in its `features` is put to the test; what it does not promise is too, as far as it
 * has to be absent or refused.
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

import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import type { StoreTrial } from './trial.ts'

export const closing: Topic<StoreTrial> = {
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
        const attempts = () => [store.read((tx) => tx.get(['a'])), store.write((tx) => tx.put(['a'], 1))]
        const early = attempts()
        for (const attempt of early) await refused(attempt, 'ServiceUnavailable', /closed/)
        await closing
        for (const attempt of attempts()) await refused(attempt, 'ServiceUnavailable', /closed/)
      },
    ),
  ],
}

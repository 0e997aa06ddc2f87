import assert from 'node:assert/strict'
import { nextTurn } from '../../../base/time.ts'
import { during } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import type { StoreTrial } from './trial.ts'

/** A store without `state` must return undefined, rather than a wrong state. */
export const states: Topic<StoreTrial> = {
  name: 'states, where the store tells them',
  cases: [
    rule(
      'store.state-new',
      'Store.state',
      'Every change gives a state that was never there; reading gives no other.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.state === undefined) return
        const seen = new Set<unknown>()
        for (let i = 0; i < 20; i++) {
          // The same records may return; an old state must not.
          await store.write((tx) => tx.put(['n'], i % 2))
          const state = store.state()
          assert.notEqual(state, undefined)
          assert.ok(!seen.has(state), `The state ${state} comes again after another change.`)
          seen.add(state)
          await store.read((tx) => tx.get(['n']))
          await store.write(() => {}).catch(() => {})
          const after: unknown = store.state()
          seen.add(after)
          await store.read((tx) => [...tx.range({})])
          assert.equal(store.state(), after)
        }
      },
    ),
    rule(
      'store.state-around',
      'Store.state',
      'A change shows in the state, whatever fails around it.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.state === undefined) return
        for (let round = 0; round < 20; round++) {
          const before = store.state()
          const writes = Array.from({ length: 5 }, (_, i) =>
            store.write((tx) => {
              tx.put(['n', i], round)
              if (i !== round % 5) throw new Error('no')
            }),
          )
          await Promise.allSettled(writes)
          assert.notEqual(store.state(), before)
        }
      },
    ),
    rule(
      'store.state-kept',
      'Store.state',
      'What was read between two equal states is what a read gives.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.state === undefined) return
        const known = new Map<unknown, unknown>()
        const write = async () => {
          for (let i = 1; i <= 40; i++) {
            await store.write((tx) => tx.put(['n'], i))
            await nextTurn()
          }
        }
        const look = async () => {
          const before: unknown = store.state?.()
          const found = await store.read((tx) => tx.get(['n']))
          if (store.state?.() !== before) return
          if (known.has(before)) assert.equal(found, known.get(before))
          known.set(before, found)
        }
        await during(write, look)
        await look()
        assert.ok(known.size > 0)
      },
    ),
  ],
}

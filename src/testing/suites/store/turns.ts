import assert from 'node:assert/strict'
import type { Store } from '../../../base/store/store.ts'
import { nextTurn, sleep } from '../../../base/time.ts'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import type { StoreTrial } from './trial.ts'

/** Runs `look` while it holds the turn of one or more names, and resolves to its result. */
async function holding<T>(
  store: Store,
  name: string | readonly string[],
  look: () => Promise<T>,
): Promise<T> {
  let result: T | undefined
  const runs: number[] = []
  const given = await store.inTurn!(name, async () => {
    runs.push(1)
    result = await look()
    return 'given'
  })
  assert.equal(given, 'given')
  assert.equal(runs.length, 1)
  return result as T
}

/** Work may always run without a turn. So the rules check only the turns that the store reports. */
export const turns: Topic<StoreTrial> = {
  name: 'turns, where the store gives them',
  cases: [
    rule(
      'store.turn-work',
      'Store.inTurn',
      'Work in a turn runs once, also in a turn of several names. Its caller gets its result or its error, and a turn of another name does not wait for it.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.inTurn === undefined) return
        const inner = await holding(store, 'one', () => holding(store, 'another', async () => 'inner'))
        assert.equal(inner, 'inner')
        const together = () => holding(store, ['one', 'two', 'one'], async () => 'together')
        assert.equal(await holding(store, 'another', together), 'together')
        const failed = store.inTurn('one', async () => {
          throw Object.assign(new Error('no rows'), { code: 'InvalidInput' })
        })
        await refused(failed, 'InvalidInput', /no rows/)
        await holding(store, 'one', () => store.write((tx) => tx.put(['a'], 1)))
        assert.equal(await store.read((tx) => tx.get(['a'])), 1)
      },
    ),
    rule(
      'store.turn-taken',
      'Store.isTurnTaken',
      'Where a store says that a turn is taken, the next work of that name waits for its end, and then the turn is free.',
      [],
      async ({ store, place }: StoreTrial) => {
        if (store.inTurn === undefined || store.isTurnTaken === undefined) return
        const other = store.features.multiProcess ? await place.open() : store
        const judge = async (held: string | readonly string[], wanted: string) => {
          assert.equal(await other.isTurnTaken!(wanted), false)
          const order: string[] = []
          const second = await holding(store, held, async () => {
            const isTaken = await other.isTurnTaken!(wanted)
            if (!isTaken) return undefined
            const waiting = holding(other, wanted, async () => order.push('second'))
            for (let i = 0; i < 20; i++) await nextTurn()
            assert.equal(await store.isTurnTaken!(wanted), true)
            order.push('first')
            return { waiting }
          })
          if (second === undefined) return
          await second.waiting
          assert.deepEqual(order, ['first', 'second'])
          // The former holder may be notified first. On a busy machine the others follow much later.
          for (let i = 0; i < 500 && (await store.isTurnTaken!(wanted)); i++) await sleep(10)
          assert.equal(await store.isTurnTaken!(wanted), false)
        }
        try {
          await judge('one', 'one')
          await judge(['one', 'two'], 'two')
        } finally {
          if (other !== store) await other.close()
        }
      },
    ),
  ],
}

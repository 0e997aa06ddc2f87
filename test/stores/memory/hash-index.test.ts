import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Key, Reader, Writer } from '../../../src/base/store/store.ts'
import { type MemorySnapshot, type MemoryStore, memoryStore } from '../../../src/stores/memory/index.ts'

/*
 * What the index of a store answers must be what its tree holds, whatever was written, undone, copied or put back
 * since. A range walks the tree, so a get must give what a range gives; the model of a store is a map.
 */

interface Held {
  readonly store: MemoryStore
  model: Map<number, number>
}

interface Change {
  readonly puts: readonly (readonly [number, number])[]
  readonly removes: readonly number[]
  readonly looks: readonly number[]
}

const keys = 12
const kinds = ['a', 'b', 'c']
/** Keys of several kinds, of which those are not remembered that nobody asked for. */
const keyOf = (k: number): Key => [kinds[k % kinds.length]!, k]
const key = fc.nat(keys - 1)
const step = fc.record({
  on: fc.nat(9),
  do: fc.constantFrom('write', 'write', 'write', 'undo', 'read', 'read', 'fork', 'snapshot', 'restore'),
  puts: fc.array(fc.tuple(key, fc.nat(99)), { maxLength: 3 }),
  removes: fc.array(key, { maxLength: 2 }),
  looks: fc.array(key, { maxLength: 3 }),
})

/** Looks, changes and looks again; answers with what the store holds then. Only reads look up the last kind. */
function change(tx: Writer, model: Held['model'], { puts, removes, looks: all }: Change): Held['model'] {
  const looks = all.filter((k) => k % kinds.length < kinds.length - 1)
  look(tx, model, looks)
  const next = new Map(model)
  for (const [k, value] of puts) {
    tx.put(keyOf(k), value)
    next.set(k, value)
  }
  for (const k of removes) {
    tx.remove(keyOf(k))
    next.delete(k)
  }
  look(tx, next, looks)
  return next
}

function look(tx: Reader, model: Held['model'], looks: readonly number[]): void {
  for (const k of looks) expect(tx.get(keyOf(k))).toBe(model.get(k))
}

function expectSame({ store, model }: Held): Promise<void> {
  return store.read((tx) => {
    const walked = new Map(Array.from(tx.range({}), ({ key, value }) => [key[1], value]))
    expect(walked).toEqual(model)
    look(tx, model, [...Array(keys).keys()])
  })
}

test('a store finds what its tree holds, however much its index knows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const stores: Held[] = [{ store: memoryStore(), model: new Map() }]
      const snapshots: { snapshot: MemorySnapshot; model: Map<number, number> }[] = []
      for (const { on, do: what, ...given } of steps) {
        const held = stores[on % stores.length]!
        const { store, model } = held
        if (what === 'write') held.model = await store.write((tx) => change(tx, model, given))
        else if (what === 'read') await store.read((tx) => look(tx, model, given.looks))
        else if (what === 'fork') stores.push({ store: store.fork(), model })
        else if (what === 'snapshot') snapshots.push({ snapshot: store.snapshot(), model })
        else if (what === 'restore' && snapshots.length > 0) {
          const kept = snapshots[on % snapshots.length]!
          store.restore(kept.snapshot)
          held.model = kept.model
        } else if (what === 'undo') {
          const undone = store.write((tx) => {
            change(tx, model, given)
            throw new Error('undo')
          })
          await expect(undone).rejects.toThrow('undo')
        }
      }
      for (const held of stores) await expectSame(held)
    }),
    { numRuns: 200 },
  )
})

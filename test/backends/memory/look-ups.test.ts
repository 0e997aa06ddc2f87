import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type MemorySnapshot, type MemoryStore, memoryStore } from '../../../src/backends/memory.ts'

/*
 * What a store remembers of earlier reads must be what its tree holds, whatever was written, undone, copied or put
 * back since. The model of a store is a map.
 */

interface Held {
  readonly store: MemoryStore
  model: Map<number, number>
}

const keys = 12
const key = fc.nat(keys - 1)
const step = fc.record({
  on: fc.nat(9),
  do: fc.constantFrom('write', 'write', 'write', 'undo', 'read', 'read', 'fork', 'snapshot', 'restore'),
  puts: fc.array(fc.tuple(key, fc.nat(99)), { maxLength: 3 }),
  removes: fc.array(key, { maxLength: 2 }),
})

async function write({ store, model }: Held, { puts, removes }: { puts: number[][]; removes: number[] }) {
  const next = new Map(model)
  await store.write((tx) => {
    for (const [k, value] of puts) {
      tx.put(['k', k!], value!)
      next.set(k!, value!)
    }
    for (const k of removes) {
      tx.remove(['k', k])
      next.delete(k)
    }
    for (let k = 0; k < keys; k++) expect(tx.get(['k', k])).toBe(next.get(k))
  })
  return next
}

async function expectSame({ store, model }: Held): Promise<void> {
  const found = await store.read((tx) => Array.from({ length: keys }, (_, k) => tx.get(['k', k])))
  expect(found).toEqual(Array.from({ length: keys }, (_, k) => model.get(k)))
}

test('a store finds what its tree holds, however much it remembers', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const stores: Held[] = [{ store: memoryStore(), model: new Map() }]
      const snapshots: { snapshot: MemorySnapshot; model: Map<number, number> }[] = []
      for (const { on, do: what, ...change } of steps) {
        const held = stores[on % stores.length]!
        const { store, model } = held
        if (what === 'write') held.model = await write(held, change)
        else if (what === 'fork') stores.push({ store: store.fork(), model })
        else if (what === 'snapshot') snapshots.push({ snapshot: store.snapshot(), model })
        else if (what === 'read') await expectSame(held)
        else if (what === 'restore' && snapshots.length > 0) {
          const kept = snapshots[on % snapshots.length]!
          store.restore(kept.snapshot)
          held.model = kept.model
        } else if (what === 'undo') {
          const undone = store.write((tx) => {
            for (const [k, value] of change.puts) tx.put(['k', k!], value!)
            for (const k of change.removes) tx.remove(['k', k])
            throw new Error('undo')
          })
          await expect(undone).rejects.toThrow('undo')
        }
        // Twice, so that what the first read remembered is what the second finds.
        await expectSame(held)
        await expectSame(held)
      }
    }),
    { numRuns: 60 },
  )
})

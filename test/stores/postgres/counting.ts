import assert from 'node:assert/strict'
import type { Store } from '../../../src/tabularium/index.ts'

/** Counts, and notes who did: a change that happened twice or in part shows. */
export function count(store: Store, who: string): Promise<number> {
  return store.write((tx) => {
    const n = (tx.get<number>(['n']) ?? 0) + 1
    tx.put(['n'], n)
    tx.put(['by', n], who)
    return n
  })
}

/** Who counted, in the order in which they did. */
export function counted(store: Store): Promise<string[]> {
  return store.read((tx) => {
    const by = Array.from(tx.range<string>({ prefix: ['by'] }), ({ value }) => value)
    assert.equal(tx.get(['n']) ?? 0, by.length)
    return by
  })
}

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Key, Range, Reader, Store, Writer } from '../../src/base/store/store.ts'
import type { StorePlace } from '../../src/testing/suites/store/trial.ts'
import { anyRange, commonKey } from './arbitraries.ts'
import { Model } from './model.ts'
import { encodeKey } from './ordered-binary.ts'
import { lmdbPlace, memoryPlace } from './places.ts'

type Step =
  | { readonly do: 'put'; readonly key: Key; readonly value: number }
  | { readonly do: 'remove'; readonly key: Key }
  | { readonly do: 'get'; readonly key: Key }
  | { readonly do: 'range'; readonly range: Range }

interface Transaction {
  readonly steps: readonly Step[]
  readonly ends: 'returns' | 'throws'
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put'), key: commonKey, value: fc.nat(99) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove'), key: commonKey }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get'), key: commonKey }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('range'), range: anyRange }) },
) as fc.Arbitrary<Step>

const transaction: fc.Arbitrary<Transaction> = fc.record({
  steps: fc.array(step, { maxLength: 12 }),
  ends: fc.constantFrom('returns', 'returns', 'returns', 'throws'),
})

/** Groups of transactions that are in flight together. */
const history = fc.array(fc.array(transaction, { minLength: 1, maxLength: 4 }), { maxLength: 6 })

function run(steps: readonly Step[], tx: Writer): unknown[] {
  const answers: unknown[] = []
  for (const one of steps) {
    if (one.do === 'put') tx.put(one.key, one.value)
    else if (one.do === 'remove') tx.remove(one.key)
    else if (one.do === 'get') answers.push(tx.get(one.key))
    else answers.push([...tx.range(one.range)])
  }
  return answers
}

const probes: Range[] = [
  {},
  { reverse: true },
  { prefix: ['a'] },
  { start: ['a'], end: ['b'], reverse: true, limit: 3 },
]
const look = (tx: Reader) => probes.map((range) => [...tx.range(range)])

async function follow(store: Store, groups: readonly (readonly Transaction[])[]): Promise<void> {
  let model = new Model(encodeKey)
  await store.write((tx) => {
    for (const { key } of tx.range({})) tx.remove(key)
  })
  let state = store.state!()
  for (const group of groups) {
    // Writes of one process begin in the order they were asked for.
    const before = look(model)
    const answers = await Promise.all(
      group.map(({ steps, ends }) =>
        store
          .write((tx) => {
            const found = run(steps, tx)
            if (ends === 'throws') throw Object.assign(new Error('undo'), { found })
            return found
          })
          .catch((error: { found: unknown }) => error.found),
      ),
    )
    for (const [i, { steps, ends }] of group.entries()) {
      const changed = model.copy()
      expect(answers[i]).toEqual(run(steps, changed))
      if (ends === 'returns') model = changed
    }
    if (store.state!() === state) expect(look(model)).toEqual(before)
    state = store.state!()
    expect(await store.read(look)).toEqual(look(model))
  }
}

async function histories(place: () => Promise<StorePlace>, numRuns: number): Promise<void> {
  const { open, dispose } = await place()
  const store = await open()
  try {
    await fc.assert(
      fc.asyncProperty(history, (groups) => follow(store, groups)),
      { numRuns },
    )
  } finally {
    await store.close()
    await dispose?.()
  }
}

describe('any history of transactions gives what a plain list gives', () => {
  test('in the memory store', () => histories(memoryPlace, 400))
  test('in the LMDB store', () => histories(lmdbPlace, 150))
})

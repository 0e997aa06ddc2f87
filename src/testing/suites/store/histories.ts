import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { compareKeys } from '../../../base/store/key.ts'
import type { Entry, Key, Range, Reader, Store, Value, Writer } from '../../../base/store/store.ts'
import { nextTurn } from '../../../base/time.ts'
import { show } from '../checks.ts'
import { type Random, random } from '../random.ts'
import { rule, type Topic } from '../suite.ts'
import { all, type StoreTrial } from './trial.ts'

type Step =
  | { readonly do: 'put'; readonly key: Key; readonly value: number }
  | { readonly do: 'remove' | 'get'; readonly key: Key }
  | { readonly do: 'range'; readonly range: Range }

interface Transaction {
  readonly steps: readonly Step[]
  readonly throws: boolean
}

const parts = ['a', 'ab', 'b', '\uffff', '😀', '', 0, 1, -1, 2.5]

function anyKey(source: Random): Key {
  return Array.from({ length: 1 + source.below(3) }, () => source.pick(parts))
}

function anyRange(source: Random): Range {
  return {
    ...(source.below(2) ? { prefix: anyKey(source).slice(source.below(2)) } : {}),
    ...(source.below(3) ? {} : { start: anyKey(source) }),
    ...(source.below(3) ? {} : { end: anyKey(source) }),
    ...(source.below(3) ? {} : { limit: source.below(4) }),
    ...(source.below(2) ? { reverse: true } : {}),
  }
}

function anyStep(source: Random): Step {
  const kind = source.below(9)
  if (kind < 4) return { do: 'put', key: anyKey(source), value: source.below(100) }
  if (kind < 6) return { do: 'remove', key: anyKey(source) }
  if (kind < 7) return { do: 'get', key: anyKey(source) }
  return { do: 'range', range: anyRange(source) }
}

function anyTransaction(source: Random): Transaction {
  return {
    steps: Array.from({ length: source.below(10) }, () => anyStep(source)),
    throws: source.below(4) === 0,
  }
}

class Undo extends Error {}

/** Runs a transaction, and resolves to all that it saw, even when it ends with an error. */
function run({ steps, throws }: Transaction, writer: Writer, seen: unknown[]): void {
  seen.length = 0
  for (const step of steps) {
    if (step.do === 'put') writer.put(step.key, step.value)
    else if (step.do === 'range') seen.push([...writer.range(step.range)])
    else if (step.do === 'remove') writer.remove(step.key)
    else seen.push(writer.get(step.key))
  }
  if (throws) throw new Undo('undo')
}

async function perform(store: Store, transaction: Transaction): Promise<unknown[]> {
  const seen: unknown[] = []
  try {
    await store.write((writer) => run(transaction, writer, seen))
  } catch (error) {
    if (!(error instanceof Undo)) throw error
  }
  return seen
}

/** The model after the transactions; undefined when this order does not explain their reads. */
function explain(
  start: Model,
  order: readonly number[],
  group: readonly Transaction[],
  answers: readonly unknown[][],
): Model | undefined {
  let model = start
  for (const i of order) {
    const next = model.copy()
    const seen: unknown[] = []
    try {
      run(group[i]!, next, seen)
      model = next
    } catch {
      // The transaction was rolled back, so the model does not change.
    }
    if (!isDeepStrictEqual(seen, answers[i])) return undefined
  }
  return model
}

function orders(items: readonly number[]): number[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((first) =>
    orders(items.filter((other) => other !== first)).map((rest) => [first, ...rest]),
  )
}

/** One history: groups of concurrent transactions. Some serial order of each group must explain its reads. */
async function follow(store: Store, source: Random, told: string): Promise<void> {
  await store.write((writer) => {
    for (const { key } of writer.range({})) writer.remove(key)
  })
  let model = new Model()
  for (let groups = 1 + source.below(4); groups > 0; groups--) {
    const group = Array.from({ length: 1 + source.below(3) }, () => anyTransaction(source))
    const answers = await Promise.all(group.map((transaction) => perform(store, transaction)))
    const found = await all(store)
    const after = orders(group.map((_, i) => i))
      .map((order) => explain(model, order, group, answers))
      .find((candidate) => candidate !== undefined && isDeepStrictEqual(candidate.range({}), found))
    assert.ok(
      after,
      `${told}: no order of ${show(group)} gives the answers ${show(answers)} and leaves ${show(found)}.`,
    )
    model = after
    const look = (reader: Reader) => [...reader.range({ reverse: true })]
    assert.deepEqual(await store.read(look), look(model), told)
  }
}

export const histories: Topic<StoreTrial> = {
  name: 'histories',
  cases: [
    rule(
      'store.serializable',
      'Store.write',
      'Any transactions at the same time answer, and leave, what they would one after the other in some order.',
      [],
      async ({ store, seed, histories: count }: StoreTrial) => {
        for (let i = 0; i < count; i++) {
          await follow(store, random(seed + i), `The history of seed ${seed + i}`)
        }
      },
    ),
    rule(
      'store.write-skew',
      'Store.write',
      'Two writes that read what the other changes do not both act on the old state.',
      [],
      async ({ store }: StoreTrial) => {
        for (let round = 0; round < 8; round++) {
          await store.write((writer) => {
            writer.put(['on call', 1], 1)
            writer.put(['on call', 2], 1)
          })
          const leave = (who: number) =>
            store.write((writer) => {
              if ([...writer.range({ prefix: ['on call'] })].length > 1) writer.remove(['on call', who])
            })
          await Promise.all([leave(1), leave(2)])
          assert.equal((await all(store)).length, 1)
        }
      },
    ),
    rule(
      'store.lost-update',
      'Store.write',
      'A value that is read, changed and put back by many at once keeps the change of each.',
      [],
      async ({ store }: StoreTrial) => {
        const names = Array.from({ length: 40 }, (_, i) => `writer ${i}`)
        await Promise.all(
          names.map(async (name, i) => {
            if (i % 4 === 0) await nextTurn()
            await store.write((writer) => {
              writer.put(['list'], [...(writer.get<string[]>(['list']) ?? []), name])
            })
          }),
        )
        const kept = (await store.read((reader) => reader.get<string[]>(['list']))) ?? []
        assert.deepEqual([...kept].sort(), [...names].sort())
      },
    ),
  ],
}

/** A model of a store, which computes the expected results: a list of entries in key order. */
export class Model implements Writer {
  #entries: Entry[]

  constructor(entries: readonly Entry[] = []) {
    this.#entries = [...entries]
  }

  copy(): Model {
    return new Model(this.#entries)
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    return this.#entries.find((entry) => compareKeys(entry.key, key) === 0)?.value as V | undefined
  }

  range<V extends Value = Value>(range: Range): Entry<V>[] {
    const { prefix = [], start, end, limit = Number.POSITIVE_INFINITY, reverse } = range
    const found = this.#entries.filter(
      ({ key }) =>
        key.length > prefix.length &&
        prefix.every((part, i) => part === key[i]) &&
        (!start || compareKeys(key, start) >= 0) &&
        (!end || compareKeys(key, end) < 0),
    )
    if (reverse) found.reverse()
    return found.slice(0, limit) as Entry<V>[]
  }

  put(key: Key, value: Value): void {
    this.remove(key)
    const at = this.#entries.findIndex((entry) => compareKeys(entry.key, key) > 0)
    this.#entries.splice(at < 0 ? this.#entries.length : at, 0, { key, value })
  }

  remove(key: Key): void {
    this.#entries = this.#entries.filter((entry) => compareKeys(entry.key, key) !== 0)
  }
}

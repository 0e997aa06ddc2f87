import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { append } from '../../../src/base/store/append.ts'
import type { Reader, Value, Writer } from '../../../src/base/store/store.ts'
import { type LmdbStore, openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { acquire, release } from '../../../src/stores/lmdb/registry.ts'
import { limitEach } from '../../support/time-limit.ts'

/*
 * Writes that begin at the same time share a transaction. Each must be as if it were alone: its result, and what it
 * leaves behind. The model runs one after the other.
 */

// Each run syncs a commit, on a disk that others may keep busy.
limitEach(60)

let folder: string
let store: LmdbStore

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabularium-'))
  store = await openLmdbStore(folder)
})

afterAll(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

type Step =
  | { readonly put: number; readonly value: number }
  | { readonly remove: number }
  | { readonly read: number }
  | { readonly walk: true }
  | { readonly append: number }
  | { readonly removeLast: true }
  | { readonly fail: 'throw' | 'put' | 'promise' }

const name = fc.nat(5)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ put: name, value: fc.nat(1_000) }) },
  { weight: 2, arbitrary: fc.record({ remove: name }) },
  { weight: 3, arbitrary: fc.record({ read: name }) },
  { weight: 3, arbitrary: fc.record({ append: fc.nat(1_000) }) },
  { weight: 1, arbitrary: fc.record({ removeLast: fc.constant(true as const) }) },
  { weight: 1, arbitrary: fc.record({ walk: fc.constant(true as const) }) },
  { weight: 1, arbitrary: fc.record({ fail: fc.constantFrom('throw', 'put', 'promise') }) },
)
const bodies = fc.array(fc.array(step, { maxLength: 6 }), { minLength: 2, maxLength: 12 })

interface Access {
  get(name: number): number | undefined
  put(name: number, value: number): void
  remove(name: number): void
  all(): unknown[]
  append(value: number): void
  removeLast(): void
  spoil(): void
}

/** Runs the steps, each of which depends on what the ones before it left. Returns what it saw. */
function run(steps: readonly Step[], access: Access): unknown {
  const seen: unknown[] = []
  for (const step of steps) {
    if ('put' in step) access.put(step.put, step.value + (access.get(step.put) ?? 0))
    else if ('remove' in step) access.remove(step.remove)
    else if ('read' in step) seen.push(access.get(step.read) ?? null)
    else if ('walk' in step) seen.push(access.all())
    else if ('append' in step) access.append(step.append)
    else if ('removeLast' in step) access.removeLast()
    else if (step.fail === 'throw') throw new Error('on purpose')
    else if (step.fail === 'put') access.spoil()
    else return Promise.resolve()
  }
  return seen
}

const cycle: { of?: object } = {}
cycle.of = cycle

/** In the model, the names of a list's values are their numbers above this. */
const listed = 1_000

const sorted = (records: ReadonlyMap<number, number>) => [...records].sort(([a], [b]) => a - b)

/** All records, with the names of the model. */
function everything(reader: Reader): unknown[] {
  return Array.from(reader.range<number>({ prefix: ['g'] }), ({ key, value }) => [
    key.length === 2 ? key[1] : listed + Number(key[2]),
    value,
  ])
}

function accessTo(writer: Writer): Access {
  return {
    get: (name) => writer.get<number>(['g', name]),
    put: (name, value) => writer.put(['g', name], value),
    remove: (name) => writer.remove(['g', name]),
    all: () => everything(writer),
    append: (value) => append(writer, ['g', 'list'], value),
    removeLast: () => {
      for (const { key } of writer.range({ prefix: ['g', 'list'], reverse: true, limit: 1 }))
        writer.remove(key)
    },
    spoil: () => writer.put(['g', 9], cycle),
  }
}

/** What must come of the bodies, one after the other: the results, with null for those that fail. */
function model(all: readonly (readonly Step[])[], records: Map<number, number>): unknown[] {
  return all.map((steps) => {
    const own = new Map(records)
    try {
      const result = run(steps, {
        get: (name) => own.get(name),
        put: (name, value) => own.set(name, value),
        remove: (name) => own.delete(name),
        all: () => sorted(own),
        append: (value) => own.set(Math.max(listed, ...own.keys()) + 1, value),
        removeLast: () => {
          const last = Math.max(...own.keys())
          if (last > listed) own.delete(last)
        },
        spoil: () => {
          throw new Error('a value that no store takes')
        },
      })
      if (result instanceof Promise) return null
      records.clear()
      for (const [name, value] of own) records.set(name, value)
      return result
    } catch {
      return null
    }
  })
}

test('writes that begin together are each as if alone, also where some fail', async () => {
  const records = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(bodies, async (all) => {
      const expected = model(all, records)
      const results = await Promise.allSettled(
        all.map((steps) => store.write((writer) => run(steps, accessTo(writer)))),
      )
      expect(results.map((one) => (one.status === 'fulfilled' ? one.value : null))).toEqual(expected)
      expect(await store.read(everything)).toEqual(sorted(records))
    }),
    { numRuns: 60 },
  )
})

test('a body that throws before it changes anything does not make the others run again', async () => {
  const runs = [0, 0, 0, 0]
  const count = (index: number, fail?: 'early' | 'late') => (writer: Writer) => {
    runs[index]!++
    if (fail === 'early') throw new Error('on purpose')
    writer.put(['c', index], runs[index]!)
    if (fail === 'late') throw new Error('on purpose')
  }
  await Promise.allSettled([store.write(count(0)), store.write(count(1, 'early')), store.write(count(2))])
  expect(runs).toEqual([1, 1, 1, 0])
  await Promise.allSettled([store.write(count(0)), store.write(count(3, 'late')), store.write(count(2))])
  expect(runs.slice(0, 2)).toEqual([3, 1])
  const kept = await store.read((reader) => [0, 1, 2, 3].map((index) => reader.get(['c', index]) ?? null))
  expect(kept).toEqual([runs[0], null, runs[2], null])
})

test('the state changes with each group that changes something, and only then', async () => {
  const state = () => store.state?.()
  const before = state()
  await Promise.allSettled([
    store.write((writer) => {
      writer.put(['s'], 1)
      throw new Error('on purpose')
    }),
    store.write((writer) => writer.get(['s'])),
  ])
  expect(state()).toBe(before)
  await Promise.allSettled([
    store.write((writer) => {
      writer.put(['s'], 2)
      throw new Error('on purpose')
    }),
    store.write((writer) => writer.put(['s'], 3)),
  ])
  expect(state()).not.toBe(before)
})

test('a record that cannot be read fails only the writes that read it', async () => {
  const environment = await acquire(folder, {})
  const damaged = Object.assign(Buffer.from('{"v":'), { start: 0, end: 5 })
  const asBytes = { '\x10binary-data\x02': damaged } as unknown as Value
  await environment.db.transaction(() => void environment.db.put(['damaged'], asBytes))
  await release(environment)
  const results = await Promise.allSettled([
    store.write((writer) => writer.put(['whole'], 1)),
    store.write((writer) => writer.get(['damaged'])),
    store.write((writer) => {
      const before = writer.get<number>(['whole'])!
      writer.put(['whole'], before + 1)
    }),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(results[1]).toMatchObject({ reason: { code: 'Internal', message: /is damaged/ } })
  expect(await store.read((reader) => reader.get(['whole']))).toBe(2)
})

test('where the commit fails, no write is told of a change that is undone with it', async () => {
  const { db } = await acquire(folder, {}).then(async (environment) => {
    await release(environment)
    return environment
  })
  const transaction = db.transaction.bind(db)
  const failing = (async (work: () => unknown) => {
    await transaction(work)
    throw new Error('on purpose')
  }) as typeof db.transaction
  Object.defineProperty(db, 'transaction', { value: failing, configurable: true })
  const taken = (name: number) => (writer: Writer) => {
    if (writer.get(['t', name]) !== undefined) throw new Error(`${name} is taken`)
    writer.put(['t', name], 1)
  }
  const refused = (writer: Writer) => {
    writer.get(['t', 0])
    throw new Error('refused')
  }
  const writes = [refused, taken(1), taken(1), taken(2)].map((body) => store.write(body))
  const results = await Promise.allSettled(writes)
  Reflect.deleteProperty(db, 'transaction')
  const messages = results.map((one) => one.status === 'rejected' && (one.reason as Error).message)
  expect(messages[0]).toBe('refused')
  for (const message of messages.slice(1)) expect(message).not.toMatch(/taken|refused/)
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
})

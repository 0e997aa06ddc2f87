import fc from 'fast-check'
import { expect, it } from 'vitest'
import { keys } from '../../../src/base/store/records.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { CatalogError, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachLocalCatalog } from '../../support/catalogs.ts'
import { guessingStore } from '../../support/guessing-store.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']

/** A change that is made at the same time as others, and what it does to rows whose numbers nobody else touches. */
const one = fc.oneof(
  fc.record({ what: fc.constant('insert' as const), rows: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ what: fc.constantFrom('delete', 'update', 'merge', 'metadata', 'bound to fail', 'canceled') }),
)
type One = typeof one extends fc.Arbitrary<infer Value> ? Value : never

interface Made {
  readonly version: number
  readonly transaction_id?: string | undefined
}

/** Rows of a change: ten numbers each, of which the first five are there from the start. */
const first = (i: number) => 10 * i

async function make(catalog: LocalCatalog, change: One, i: number): Promise<Made> {
  const own = { start: first(i), mine: `n >= ${first(i)} AND n < ${first(i) + 10}` }
  if ('rows' in change) {
    return catalog.insertIntoTable({ id, data: numbered(change.rows, own.start + 5), schema }) as never
  }
  switch (change.what) {
    case 'delete':
      return catalog.deleteFromTable({ id, predicate: own.mine }) as never
    case 'update':
      return catalog.updateTable({ id, predicate: own.mine, updates: [['name', "'new'"]] }) as never
    case 'merge':
      return catalog.mergeInsertIntoTable({
        id,
        on: 'n',
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
        data: numbered(4, own.start + 3).map((row) => ({ ...row, name: 'merged' })),
      }) as never
    case 'metadata':
      return catalog.updateTableSchemaMetadata({ id, metadata: { by: String(i) } }) as never
    case 'bound to fail':
      // Only the rows tell that this cannot be computed.
      return catalog.deleteFromTable({ id, predicate: `${own.mine} AND CAST(name AS INT) = 1` }) as never
    default: {
      const stop = new AbortController()
      // At any moment of the change.
      setTimeout(() => stop.abort(new Error('enough')), i % 4)
      return catalog.deleteFromTable({ id, predicate: own.mine }, { signal: stop.signal }) as never
    }
  }
}

const schema = {
  fields: [
    { name: 'n', type: { type: 'double' }, nullable: true },
    { name: 'half', type: { type: 'double' }, nullable: true },
    { name: 'name', type: { type: 'string' }, nullable: true },
    { name: 'odd', type: { type: 'bool' }, nullable: true },
  ],
}

/** What has to be there of the rows of a change, by its outcome. */
function expected(change: One, i: number, isMade: boolean): [number, string][] {
  const before = numbered(5, first(i)).map(({ n, name }) => [n, name] as [number, string])
  if (!isMade) return before
  if ('rows' in change)
    return [...before, ...numbered(change.rows, first(i) + 5).map(({ n, name }) => [n, name] as never)]
  if (change.what === 'delete' || change.what === 'canceled') return []
  if (change.what === 'update') return before.map(([n]) => [n, 'new'])
  if (change.what === 'merge')
    return [
      ...before.slice(0, 3),
      ...numbered(4, first(i) + 3).map(({ n }) => [n, 'merged'] as [number, string]),
    ]
  return before
}

/** Makes the changes at once, through one handle after the other. `isRefused` says which failures the store made. */
async function atOnce(
  handles: readonly LocalCatalog[],
  changes: readonly One[],
  isRefused: (error: unknown) => boolean = () => false,
) {
  const catalog = handles[0]!
  await catalog.createTable({
    id,
    data: changes.flatMap((_, i) => numbered(5, first(i))),
    schema,
  })
  const outcomes = await Promise.allSettled(
    changes.map((change, i) => make(handles[i % handles.length]!, change, i)),
  )
  const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const { versions } = await catalog.listTableVersions({ id, limit: 10_000 })
  // One chain, in which each change that was acknowledged has a version of its own.
  expect(versions.map(({ version }) => version)).toEqual(
    Array.from({ length: made.length + 1 }, (_, i) => i + 1),
  )
  const transactions = made.map(({ transaction_id }) => transaction_id!)
  expect(new Set(transactions).size).toBe(made.length)
  for (const transaction of transactions)
    expect(await catalog.describeTransaction({ id: [transaction] })).toMatchObject({ status: 'Succeeded' })
  const told = made.map(({ version }) => version).filter((version) => version !== undefined)
  expect(new Set(told).size).toBe(told.length)
  // The rows are those of the changes that were acknowledged, and of no others.
  const rows = (await rowsOf(catalog, id)).map(({ n, name }) => [Number(n), name])
  const wanted = changes.flatMap((change, i) => expected(change, i, outcomes[i]!.status === 'fulfilled'))
  expect(rows.sort(byNumber)).toEqual(wanted.sort(byNumber))
  for (const [i, change] of changes.entries()) {
    const { what } = change
    const outcome = outcomes[i]!
    if (outcome.status === 'rejected' && isRefused(outcome.reason)) continue
    if (what === 'bound to fail') expect(outcome).toMatchObject({ reason: { code: 'InvalidInput' } })
    else if (what !== 'canceled') expect(outcome).toMatchObject({ status: 'fulfilled' })
  }
  // Each version is what the one before it became.
  let count = 5 * changes.length
  for (const { version } of versions.slice(1)) {
    const next = await countOf(catalog, id, { version })
    expect(Math.abs(next - count)).toBeLessThanOrEqual(5)
    count = next
  }
  for (const handle of handles) await handle.close()
}

const byNumber = (a: readonly unknown[], b: readonly unknown[]) => Number(a[0]) - Number(b[0])
const several = fc.array(one, { minLength: 2, maxLength: 24, size: 'max' })

eachLocalCatalog((open) => {
  it('many changes of one branch at once end in one chain of versions, each acknowledged once', async () => {
    await fc.assert(
      fc.asyncProperty(several, async (changes) => atOnce([await open({ concurrency: 64 })], changes)),
      { numRuns: open.kind === 'memory' ? 12 : 4 },
    )
  })
})

/** Handles that share records and content, as processes do. */
function sharing(count: number, store: Store): Promise<LocalCatalog[]> {
  const content = memoryContent()
  const root = 'memory://here'
  const open = async () =>
    closedAfterwards(await openCatalog({ store: lasting(store), content, root, concurrency: 64 }))
  return Promise.all(Array.from({ length: count }, open))
}

it.each([
  ['a store', 2, () => memoryStore()],
  ['a store that guesses', 1, () => guessingStore()],
  ['a store that guesses', 3, () => guessingStore()],
])('and so they do over %s, handles: %i', async (_, count, makeStore) => {
  await fc.assert(
    fc.asyncProperty(several, async (changes) => atOnce(await sharing(count, makeStore()), changes)),
    { numRuns: 10 },
  )
})

it('and so do those that were written on top of one whose commit the store refuses', async () => {
  const refusal = new CatalogError('ServiceUnavailable', 'The store refuses this commit. Try again.')
  await fc.assert(
    fc.asyncProperty(several, fc.integer({ min: 2, max: 5 }), async (changes, every) => {
      const store = memoryStore()
      let versions = 0
      const refusing: Store = {
        ...lasting(store),
        write: (body) =>
          store.write((writer) =>
            body({
              get: (key) => writer.get(key),
              range: (range) => writer.range(range),
              remove: (key) => writer.remove(key),
              put(key, value) {
                // The first one creates the table.
                if (key[0] === keys.version('', '', 0)[0] && versions++ % every === 1) throw refusal
                writer.put(key, value)
              },
            }),
          ),
      }
      await atOnce(await sharing(1, refusing), changes, (error) => error === refusal)
    }),
    { numRuns: 20 },
  )
})

/** A store that stays open when one of its handles is closed. */
function lasting(store: Store): Store {
  return {
    features: store.features,
    read: (body) => store.read(body),
    write: (body) => store.write(body),
    close: async () => {},
  }
}

it('what ends between the manifests and their commit takes nothing with it that was acknowledged', async () => {
  const store = memoryStore()
  const content = memoryContent()
  const root = 'memory://here'
  const never = new Promise<never>(() => {})
  /** A process whose writes are lost after some versions, as when it is killed. */
  const mortal = async (left: number) => {
    const process = { left }
    const lost = new Error('The process is dead.')
    const dying: Store = {
      features: store.features,
      read: (body) => store.read(body),
      // Slow work is recorded, too, and so is upkeep.
      write: (body) =>
        store
          .write((writer) => {
            if (process.left < 0) throw lost
            let makesVersion = false
            const result = body({
              get: (key) => writer.get(key),
              range: (range) => writer.range(range),
              remove: (key) => writer.remove(key),
              put(key, value) {
                if (key[0] === keys.version('', '', 0)[0]) makesVersion = true
                writer.put(key, value)
              },
            })
            if (makesVersion && process.left-- <= 0) throw lost
            return result
          })
          .catch((error) => (error === lost ? never : Promise.reject(error))),
      close: () => store.close(),
    }
    return { process, catalog: await openCatalog({ store: dying, content, root }) }
  }
  const one = await openCatalog({ store, content, root })
  await one.createTable({ id, data: numbered(1) })
  for (const left of [0, 1, 5, 8]) {
    const { versions: before } = await one.listTableVersions({ id, limit: 10_000 })
    const { process, catalog } = await mortal(left)
    const acknowledged = new Set<number>()
    for (let i = 0; i < 8; i++) {
      const n = 100 * (left + 1) + i
      catalog.insertIntoTable({ id, data: numbered(1, n) }).then(
        () => acknowledged.add(n),
        () => {},
      )
    }
    await expect.poll(() => acknowledged.size).toBe(left)
    // With eight of eight, none is lost.
    await expect.poll(() => process.left).toBe(left < 8 ? -1 : 0)
    const other = await openCatalog({ store, content, root })
    const rows = (await rowsOf(other, id)).map(({ n }) => n as number)
    for (const n of acknowledged) expect(rows).toContain(n)
    const { versions } = await other.listTableVersions({ id, limit: 10_000 })
    expect(versions).toHaveLength(before.length + left)
    // Nothing of it is in the way of others, and what was left behind can go.
    await other.insertIntoTable({ id, data: numbered(1, 5_000 + left) })
    await other.vacuum({ graceMillis: 0 })
    expect(await rowsOf(other, id)).toHaveLength(rows.length + 1)
  }
})

/** Two handles on one store, whose first one calls `before` ahead of each of its writes. */
async function rivals(store: Store, before: () => Promise<unknown>) {
  const content = memoryContent()
  const root = 'memory://here'
  const slow: Store = {
    ...store,
    write: async (body) => {
      await before()
      return store.write(body)
    },
  }
  const [late, quick] = await Promise.all(
    [slow, store].map(async (own) =>
      closedAfterwards(await openCatalog({ store: own, content, root, concurrency: 64 })),
    ),
  )
  return { late: late!, quick: quick! }
}

it('a change that loses each race fails in the end, says why, and leaves nothing', async () => {
  let isRivalry = false
  const { late, quick } = await rivals(lasting(memoryStore()), async () => {
    if (isRivalry) await quick.insertIntoTable({ id, data: numbered(1) })
  })
  await quick.createTable({ id, data: numbered(1) })
  isRivalry = true
  const lost = late.deleteFromTable({ id, predicate: 'n >= 0' })
  await expect(lost).rejects.toMatchObject({
    code: 'ConcurrentModification',
    message: expect.stringMatching(/committed first 200 times in a row to t\b/),
  })
  isRivalry = false
  expect(await countOf(quick, id)).toBeGreaterThan(200)
})

it('in turns among processes, changes that come meanwhile share the turn, and one that cannot read fails alone', async () => {
  const store = lasting(memoryStore())
  const outage = new CatalogError('ServiceUnavailable', 'The store is out of reach. Try again.')
  let turns = 0
  let endsInTurn = false
  let isOut = false
  const withTurns: Store = {
    ...store,
    read: async (body) => {
      if (isOut) throw outage
      return store.read(body)
    },
    inTurn: async (_, work) => {
      turns++
      isOut = endsInTurn
      // Others come while the turn is waited for.
      await new Promise((resolve) => setTimeout(resolve, 50))
      return work().finally(() => {
        isOut = false
      })
    },
    isTurnTaken: async () => false,
  }
  let isRivalry = false
  const { late, quick } = await rivals(withTurns, async () => {
    if (!isRivalry) return
    isRivalry = false
    await quick.insertIntoTable({ id, data: numbered(1) })
  })
  const insert = () => late.insertIntoTable({ id, data: numbered(1) })
  /** For a second after it, a process takes turns at the branch. */
  const loseRace = async () => {
    isRivalry = true
    await insert()
  }
  await quick.createTable({ id, data: numbered(1) })
  let count = 1
  for (let isRefused = false; !isRefused; ) {
    await loseRace()
    endsInTurn = true
    isRefused = await insert().then(
      () => false,
      (error) => error === outage,
    )
    endsInTurn = false
    count += isRefused ? 2 : 3
  }
  await loseRace()
  turns = 0
  await Promise.all(Array.from({ length: 80 }, insert))
  expect(turns).toBeLessThan(80)
  expect(await countOf(quick, id)).toBe(count + 2 + 80)
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import {
  dictionary,
  field,
  float64,
  int32,
  int64,
  Table,
  tableFromArrays,
  tableToIPC,
  utf8,
} from '@uwdata/flechette'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeSlice } from '../../../../src/base/scheduling/time-slice.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { addRow, clearTrailing, noRows, wordsFor } from '../../../../src/engine/arrow/bitmap.ts'
import { scalarAt } from '../../../../src/engine/predicate/evaluate/scalar.ts'
import { decodeArrow, tableEngine } from '../../../../src/engine/table/index.ts'
import { BestRows } from '../../../../src/engine/table/read/best-rows.ts'
import { addBest } from '../../../../src/engine/table/read/find-best.ts'
import { type SortKey, sortKeys } from '../../../../src/engine/table/read/sort-keys.ts'
import { contentWith } from '../../../support/contents.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { types } from '../../predicate/evaluate/arbitrary.ts'
import { batchOf } from '../../predicate/evaluate/batches.ts'
import { randomTable } from '../../predicate/reference/rows.ts'

// It sorts random rows, and asks the reference for the same.
limitEach(60)

/** Values in their order: nulls aside, NaN last, -0 before 0. */
function compare(a: unknown, b: unknown): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array)
  const rank = (value: unknown) => (Number.isNaN(value) ? 1 : 0)
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (Object.is(a, -0) !== Object.is(b, -0) && a === b) return Object.is(a, -0) ? -1 : 1
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0
}

function inOrder(
  rows: number[],
  values: readonly (readonly unknown[])[],
  keys: readonly SortKey[],
): number[] {
  return rows.toSorted((a, b) => {
    for (const [k, { direction, nullsFirst }] of keys.entries()) {
      const [x, y] = [values[k]![a] ?? null, values[k]![b] ?? null]
      if (x === null || y === null) {
        if (x !== y) return (x === null) === nullsFirst ? -1 : 1
        continue
      }
      const order = direction * compare(x, y)
      if (order !== 0) return order
    }
    return a - b
  })
}

const sortable = types.filter(([, type]) => {
  try {
    sortKeys({ fields: [{ name: 'c', type, nullable: true, metadata: new Map() }] }, [{ column: 'c' }])
    return true
  } catch {
    return false
  }
})

test('the best rows by keys of any type are those of a sort', async () => {
  expect(sortable.length).toBeGreaterThan(20)
  const direction = fc.constantFrom<1 | -1>(1, -1)
  const key = fc.record({
    column: fc.constantFrom(...sortable),
    direction,
    nullsFirst: fc.boolean(),
    seed: fc.nat(),
  })
  const asked = fc.record({
    keys: fc.array(key, { minLength: 1, maxLength: 3 }),
    // Fragments of one block and of several, and none.
    parts: fc.array(fc.oneof(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 1_000, max: 4_000 })), {
      minLength: 1,
      maxLength: 4,
    }),
    wanted: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(Number.POSITIVE_INFINITY)),
    nulls: fc.constantFrom(0, 5),
    every: fc.integer({ min: 1, max: 4 }),
    isRising: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(asked, async ({ keys, parts, wanted, nulls, every, isRising }) => {
      const timeSlice = new TimeSlice(undefined)
      const length = parts.reduce((sum, part) => sum + part, 0)
      const columns = keys.map(({ column: [, , values], seed }) => {
        const drawn = fc.sample(values, { seed, numRuns: 60 })
        if (isRising) drawn.sort(compare)
        const at = (i: number) => (isRising ? Math.floor((i * 60) / length) : i * 31 + (i >> 4) + seed)
        return Array.from({ length }, (_, i) =>
          nulls > 0 && (i * 7 + seed) % nulls === 0 ? null : drawn[at(i) % drawn.length]!,
        )
      })
      const sorts = keys.map(({ direction, nullsFirst }, k) => ({
        name: `${k}`,
        path: [k],
        direction,
        nullsFirst,
      }))
      const best = new BestRows(sorts, wanted, Number.POSITIVE_INFINITY)
      const again = new BestRows(sorts, wanted, Number.POSITIVE_INFINITY)
      const late = new BestRows(sorts, wanted, Number.POSITIVE_INFINITY)
      const apart = new BestRows(sorts, wanted, Number.POSITIVE_INFINITY)
      const seen: unknown[][] = keys.map(() => [])
      const rows: number[] = []
      let start = 0
      for (const [fragment, part] of parts.entries()) {
        const batches = keys.map(({ column: [, type] }, k) =>
          batchOf(type, columns[k]!.slice(start, start + part)),
        )
        for (const [k, batch] of batches.entries()) {
          for (let row = 0; row < part; row++) seen[k]!.push(scalarAt(batch, row))
        }
        const among = noRows(part)
        for (let row = 0; row < part; row++) {
          if (row % 5 > every) continue
          addRow(among, row)
          rows.push(start + row)
        }
        const matching = async (from: number, end: number) => {
          const found = among.slice(from >>> 5, wordsFor(end))
          clearTrailing(found, end - from)
          return found
        }
        await addBest(best, { fragment, batches, among }, timeSlice)
        // The best values of blocks are known now.
        await addBest(again, { fragment, batches, among }, timeSlice)
        await addBest(late, { fragment, batches, among: undefined, matching }, timeSlice)
        const alone = new BestRows(sorts, wanted, Number.POSITIVE_INFINITY, apart.boundFor(fragment, 0))
        await addBest(alone, { fragment: 0, batches, among, matching }, timeSlice)
        await apart.addFound(fragment, await alone.found(timeSlice), timeSlice)
        start += part
      }
      const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part, 0))
      const expected = inOrder(rows, seen, sorts)
      for (const found of [best, again, late, apart]) {
        const sorted = await found.sorted(timeSlice)
        const positions = Array.from(sorted.rows, (row, i) => starts[sorted.fragments[i]!]! + row)
        expect(positions).toEqual(expected.slice(0, Math.min(wanted, expected.length)))
      }
    }),
    { numRuns: 50 },
  )
})

test('the first rows of an order are those of all rows in that order', async () => {
  const engine = tableEngine({ content: memoryContent(), fragmentRows: 64 })
  const made = await engine.create('t', randomTable(23, 700))
  const { snapshot } = await engine.deleteRows('id % 5 = 2 OR id < 70').apply(made)
  const key = fc.record({
    column: fc.constantFrom('id', ...columns, '_rowid'),
    descending: fc.boolean(),
    nullsFirst: fc.boolean(),
  })
  const asked = fc.record({
    keys: fc.array(key, { minLength: 1, maxLength: 2 }),
    limit: fc.oneof(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 700 })),
    offset: fc.constantFrom(0, 0, 1, 40),
    filter: fc.option(fc.constantFrom('id % 7 <> 0', 'i > 0'), { nil: undefined }),
  })
  const quoted = (column: string) => (column.includes(' ') ? `\`${column}\`` : column)
  const all = Object.fromEntries(['id', '_rowid', ...columns].map((column) => [column, quoted(column)]))
  const asStored = await decodeArrow(await engine.queryRows(snapshot, { columns: all }))
  const placeOf = new Map([...asStored.getChild('id')].map((id, place) => [Number(id), place]))
  await fc.assert(
    fc.asyncProperty(asked, async ({ keys, limit, offset, filter }) => {
      const orderBy = keys.map((key) => ({ ...key, column: quoted(key.column) }))
      const idsOf = async (options: object) => {
        const answer = await engine.queryRows(snapshot, { orderBy, filter, columns: ['id'], ...options })
        return [...(await decodeArrow(answer)).getChild('id')].map(Number)
      }
      const ids = await idsOf({ limit, offset })
      expect(ids).toEqual((await idsOf({})).slice(offset, offset + limit))
      // The columns of keys are not read again.
      const shown = Object.fromEntries(orderBy.map(({ column }, k) => [`k${k}`, column]))
      const again = await engine.queryRows(snapshot, { orderBy, filter, limit, offset, columns: shown })
      const read = await decodeArrow(again)
      for (const [k, { column }] of keys.entries()) {
        const stored = asStored.getChild(column)
        const expected = ids.map((id) => stored.at(placeOf.get(id)!))
        expect([...read.getChild(`k${k}`)].map(String)).toEqual(expected.map(String))
        expect(read.getChild(`k${k}`).nullCount).toBe(expected.filter((value) => value === null).length)
      }
    }),
    { numRuns: 70 },
  )
})

const special = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 1, 2, null]

test('few values that many rows share come in order', async () => {
  const value = fc.constantFrom(...special)
  const clump = fc.record({ usual: value, rare: value, every: fc.constantFrom(2, 50, 300, 3_000) })
  const table = fc.record({
    clumps: fc.array(clump, { minLength: 1, maxLength: 24 }),
    fragmentRows: fc.constantFrom(64, 512, 4_096),
    deletes: fc.boolean(),
  })
  const query = fc.record({
    descending: fc.boolean(),
    nullsFirst: fc.boolean(),
    column: fc.constantFrom('f', 'd'),
    limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 700 })),
    filter: fc.constantFrom(undefined, 'id >= 0', 'id % 4 > 0'),
  })
  const entries = BigInt64Array.from([5n, 3n, 9n, 1n, 2n, 8n, 7n], (value) => value << 40n)
  const dictionaryType = dictionary(int64(), int64())
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.array(query, { minLength: 6, maxLength: 6 }),
      async ({ clumps, fragmentRows, deletes }, queries) => {
        const values = clumps.flatMap(({ usual, rare, every }) =>
          Array.from({ length: 300 }, (_, i) => (i % every === every - 1 ? rare : usual)),
        )
        const { length } = values
        const codes = values.map((value) => special.findIndex((one) => Object.is(one, value)) % 7)
        const batches = {
          id: batchOf(
            int32(),
            values.map((_, i) => i),
          ),
          f: batchOf(float64(), values),
          d: makeBatch(dictionaryType, {
            length,
            values: BigInt64Array.from(codes, BigInt),
            dictionary: makeColumn(int64(), [
              makeBatch(int64(), { length: entries.length, values: entries }),
            ]),
          }),
        }
        const engine = tableEngine({ content: memoryContent(), fragmentRows })
        let snapshot = await engine.create(
          't',
          new Table(
            {
              fields: Object.entries(batches).map(([name, { type }]) => field(name, type)),
              metadata: null,
            } as never,
            Object.values(batches).map((batch) => makeColumn(batch.type, [batch])),
          ),
        )
        if (deletes)
          ({ snapshot } = await engine.deleteRows('id % 9 = 1 OR id BETWEEN 100 AND 900').apply(snapshot))
        const isLeft = (id: number) => !deletes || !(id % 9 === 1 || (id >= 100 && id <= 900))
        for (const { column, descending, nullsFirst, limit, filter } of queries) {
          const answer = await engine.queryRows(snapshot, {
            orderBy: [{ column, descending, nullsFirst }],
            limit,
            filter,
            columns: ['id'],
          })
          const rows = values
            .map((_, i) => i)
            .filter((i) => isLeft(i) && (filter !== 'id % 4 > 0' || i % 4 > 0))
          const shown = column === 'f' ? values : codes.map((code) => entries[code]!)
          const key: SortKey = { name: column, path: [0], direction: descending ? -1 : 1, nullsFirst }
          const expected = inOrder(rows, [shown], [key]).slice(0, limit)
          expect([...(await decodeArrow(answer)).getChild('id')]).toEqual(expected)
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('texts that are no UTF-8 come in order, too', async () => {
  const length = 256
  const offsets = Int32Array.from({ length: length + 1 }, (_, i) => i * 2)
  const bytes = (first: (i: number) => number) =>
    makeBatch(utf8(), {
      length,
      offsets,
      values: Uint8Array.from({ length: length * 2 }, (_, i) => first(i)),
    })
  for (const first of [0x80, 0xff]) {
    const batch = bytes((i) => (i % 2 === 0 ? first : 255 - (i >> 1)))
    const engine = tableEngine({ content: memoryContent(), fragmentRows: 64 })
    const fields = [field('s', utf8()), field('id', int32())]
    const ids = batchOf(
      int32(),
      Array.from({ length }, (_, i) => i),
    )
    const columns = [batch, ids].map((one) => makeColumn(one.type, [one]))
    const snapshot = await engine.create('t', new Table({ fields, metadata: null } as never, columns))
    for (const descending of [false, true]) {
      const orderBy = [{ column: 's', descending }]
      const answer = await engine.queryRows(snapshot, { orderBy, limit: 2, columns: ['id'] })
      expect([...(await decodeArrow(answer)).getChild('id')]).toEqual(descending ? [0, 1] : [255, 254])
    }
  }
})

test('fragments without rows of the answer are not read', async () => {
  const content = memoryContent()
  const read = new Set<string>()
  const engine = tableEngine({
    content: contentWith(content, {
      get(path, range) {
        read.add(path)
        return content.get(path, range)
      },
    }),
    fragmentRows: 64,
  })
  const snapshot = await engine.create(
    't',
    tableFromArrays({ i: Int32Array.from({ length: 640 }, (_, i) => i) }),
  )
  read.clear()
  const answer = await engine.queryRows(snapshot, { orderBy: [{ column: 'i', descending: true }], limit: 3 })
  expect([...(await decodeArrow(answer)).getChild('i')]).toEqual([639, 638, 637])
  expect([...read].filter((path) => path.endsWith('.arrow'))).toHaveLength(1)
})

test('no more is kept than is wanted, and what is kept is bounded', async () => {
  const timeSlice = new TimeSlice(undefined)
  const keys: SortKey[] = [{ name: 'c', path: [0], direction: 1, nullsFirst: false }]
  const batch = batchOf(
    int32(),
    Array.from({ length: 20_000 }, (_, i) => -i),
  )
  const some = new BestRows(keys, 10, 100_000)
  const rows = { fragment: 0, batches: [batch], among: undefined }
  await addBest(some, rows, timeSlice)
  expect([...(await some.sorted(timeSlice)).rows]).toEqual(Array.from({ length: 10 }, (_, i) => 19_999 - i))
  expect(some.bytes).toBeLessThan(100_000)
  const all = new BestRows(keys, Number.POSITIVE_INFINITY, 100_000)
  await expect(addBest(all, rows, timeSlice)).rejects.toThrow(
    'Sorting these rows would take more than 100,000 bytes of memory. Give a limit',
  )
})

test('sorting lets other work go on, and hears its signal', async () => {
  const abort = new AbortController()
  const engine = tableEngine({ content: memoryContent() })
  const values = Float64Array.from({ length: 60_000 }, (_, i) => (i * 7_919) % 60_013)
  const snapshot = await engine.create('t', tableFromArrays({ values }))
  let turns = 0
  const tick = setInterval(() => turns++, 0)
  await engine.queryRows(snapshot, { orderBy: [{ column: 'values' }] })
  clearInterval(tick)
  expect(turns).toBeGreaterThan(0)
  setImmediate(() => abort.abort(new Error('enough')))
  const sorting = engine.queryRows(snapshot, { orderBy: [{ column: 'values' }], signal: abort.signal })
  await expect(sorting).rejects.toThrow('enough')
})

test('a large answer comes in parts, in its order', async () => {
  const engine = tableEngine({ content: memoryContent(), fragmentRows: 65_536 })
  const values = Float64Array.from({ length: 150_000 }, (_, i) => (i * 7_919) % 150_011)
  const snapshot = await engine.create('t', tableFromArrays({ values }))
  const answer = await engine.streamRows(snapshot, { orderBy: [{ column: 'values' }] })
  expect(answer).not.toBeInstanceOf(Uint8Array)
  const parts: Uint8Array[] = []
  for await (const part of answer as AsyncIterable<Uint8Array>) parts.push(part)
  expect(parts.length).toBeGreaterThan(1)
  const found = (await decodeArrow(Buffer.concat(parts))).getChild('values').toArray() as Float64Array
  expect(
    Buffer.compare(
      Buffer.from(found.buffer, found.byteOffset, found.byteLength),
      Buffer.from(values.toSorted().buffer),
    ),
  ).toBe(0)
})

const columns = [
  'i8',
  'i',
  'big',
  'u64',
  'f',
  'z',
  'f32',
  's',
  'Name',
  'dict',
  'b',
  'd',
  'ts',
  'tz',
  'dec',
  'st.x',
  'st.y.z',
  'sp ace',
]

test('rows come in the order of the reference', async () => {
  const table = randomTable(11, 120)
  const engine = tableEngine({ content: memoryContent(), fragmentRows: 64 })
  const snapshot = await engine.create('t', table)
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-order-'))
  const database = await connect(directory)
  const opened = await database.createTable('t', tableFromIPC(tableToIPC(table, { format: 'file' })!))
  try {
    const key = fc.record({
      column: fc.constantFrom(...columns),
      descending: fc.boolean(),
      nullsFirst: fc.boolean(),
    })
    const asked = fc.record({
      keys: fc.uniqueArray(key, { minLength: 1, maxLength: 3, selector: ({ column }) => column }),
      limit: fc.option(fc.integer({ min: 1, max: 130 }), { nil: undefined }),
      offset: fc.option(fc.integer({ min: 0, max: 130 }), { nil: undefined }),
      filter: fc.option(fc.constantFrom('i > 0', "s < 'b'", 'b'), { nil: undefined }),
    })
    await fc.assert(
      fc.asyncProperty(asked, async ({ keys, limit, offset, filter }) => {
        // Which of equal rows is first the reference does not say.
        const all = [...keys, { column: 'id', descending: false, nullsFirst: false }]
        const orderBy = all.map(({ column, ...key }) => ({
          columnName: column.includes(' ') ? `\`${column}\`` : column,
          ascending: !key.descending,
          nullsFirst: key.nullsFirst,
        }))
        let query = opened.query().orderBy(orderBy)
        if (filter !== undefined) query = query.where(filter)
        if (limit !== undefined) query = query.limit(limit)
        if (offset !== undefined) query = query.offset(offset)
        const expected = (await query.toArray()).map(({ id }) => Number(id))
        const answer = await engine.queryRows(snapshot, {
          orderBy: all,
          limit,
          offset,
          filter,
          columns: ['id'],
        })
        const found = [...(await decodeArrow(answer)).getChild('id')].map(Number)
        expect(found).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  } finally {
    opened.close()
    database.close()
    await rm(directory, { recursive: true })
  }
})

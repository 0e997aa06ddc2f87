import * as flechette from '@uwdata/flechette'
import * as apache from 'apache-arrow'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { iterations } from '../../../src/catalog/handle/iteration/iteration.ts'
import type { Iteration } from '../../../src/catalog/handle/iteration/types.ts'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { fakeCatalog } from '../../../src/testing/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'

// It reads random rows in all forms.
limitEach(60)

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const id = ['t']
const numbered = (count: number) => Array.from({ length: count }, (_, i) => ({ i }))

/** Plain objects. */
const objects = (members: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(members, { noNullPrototype: true })

/** Values of one kind, as a column of rows that were inserted has them. */
const columns: readonly fc.Arbitrary<unknown>[] = [
  fc.double(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.string({ unit: 'grapheme' }),
  fc.boolean(),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ maxLength: 9 }),
  fc.array(fc.double(), { maxLength: 4 }),
  fc.array(fc.option(fc.string()), { maxLength: 4 }),
  fc.array(fc.array(fc.bigInt({ min: -5n, max: 5n }), { maxLength: 3 }), { maxLength: 3 }),
  fc.float32Array({ minLength: 3, maxLength: 3 }),
  fc.int16Array({ minLength: 1, maxLength: 5 }),
  objects({ at: fc.date({ noInvalidDate: true }), deep: objects({ n: fc.double(), b: fc.uint8Array() }) }),
]

/** Names that mean something to JavaScript, to predicates or to terminals. */
const names = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'then',
  'length',
  '0',
  ' ',
  'a.b',
  'a`b',
  'SELECT',
  '"',
  "it's",
  '\n',
  'é',
  '💥',
  'x'.repeat(255),
]

const named = (count: number) =>
  fc.uniqueArray(fc.constantFrom(...names), { minLength: count, maxLength: count })

/** Structs with such members, in a list and below one another. */
const hostile = named(3).chain(([one, two, three]) => {
  const inner = fc.tuple(fc.double(), fc.option(fc.string())).map(([a, b]) =>
    Object.fromEntries([
      [two, a],
      [one, b],
    ] as const),
  )
  return fc
    .tuple(fc.option(inner), fc.array(fc.option(inner), { minLength: 1, maxLength: 3 }), fc.boolean())
    .map((values) => Object.fromEntries(values.map((value, i) => [[one, two, three][i], value])))
    .filter((value) => value[one!] !== null || value[two!] !== null)
})

/** Rows whose columns, and the members of their structs, have such names. */
const hostileTables = fc.tuple(named(3), hostile).chain(([[one, two, three], first]) =>
  fc
    .array(fc.tuple(fc.option(fc.double()), fc.option(fc.string())), { minLength: 1, maxLength: 4 })
    .map((rows) =>
      rows.map(([a, b]) =>
        Object.fromEntries([
          [one, a],
          [two, first],
          [three, b],
        ] as const),
      ),
    ),
)

/** Rows of a few columns; any value may be null. */
const tables = fc
  .array(fc.constantFrom(...columns), { minLength: 1, maxLength: 5 })
  .chain((chosen) =>
    fc.array(fc.tuple(...chosen.map((column) => fc.option(column))), { minLength: 1, maxLength: 8 }),
  )
  .map((rows) => rows.map((values) => Object.fromEntries(values.map((value, i) => [`c${i}`, value]))))

/** Values with the members of objects as lists, which no name of a member changes the meaning of. */
function members(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(members)
  if (typeof value !== 'object' || value === null) return value
  const listed = Reflect.ownKeys(value).map((name) => [
    name,
    members(Object.getOwnPropertyDescriptor(value, name)!.value),
  ])
  return { members: listed.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)) }
}

eachCatalog((open) => {
  test('rows come out as they went in, and go in again as they came out', async () => {
    const catalog = await open()
    await fc.assert(
      fc.asyncProperty(tables, async (data) => {
        await catalog.createTable({ id, data, mode: 'Overwrite' })
        const rows = await all(catalog.rows({ id }))
        expect(rows).toStrictEqual(data)
        await catalog.insertIntoTable({ id, data: rows })
        expect(await all(catalog.rows({ id, offset: data.length }))).toStrictEqual(data)
      }),
      { numRuns: open.remote ? 8 : 20 },
    )
  })

  test('rows whose names mean something else come out as they went in, in all forms', async () => {
    const catalog = await open()
    await fc.assert(
      fc.asyncProperty(hostileTables, async (data) => {
        await catalog.createTable({ id, data, mode: 'Overwrite' })
        expect(members(await all(catalog.rows({ id })))).toEqual(members(data))
        const { data: bytes } = await catalog.queryTable({ id })
        const forms = [
          bytes,
          flechette.tableFromIPC(bytes),
          apache.tableFromIPC(bytes),
          await all(catalog.rows({ id })),
        ]
        for (const form of forms) {
          await catalog.createTable({ id: ['again'], data: form, mode: 'Overwrite' })
          await catalog.insertIntoTable({ id: ['again'], data: form })
          expect(members(await all(catalog.rows({ id: ['again'] })))).toEqual(members([...data, ...data]))
        }
        await catalog.cloneTable({ id: ['clone'], source: ['again'], is_shallow: false })
        await catalog.optimizeTable({ id: ['clone'] })
        expect(members(await all(catalog.rows({ id: ['clone'] })))).toEqual(members([...data, ...data]))
        await catalog.dropTable({ id: ['clone'] })
      }),
      { numRuns: open.remote ? 4 : 8 },
    )
  })

  test('many pages have each row once, in order, of one version', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: numbered(3_500) })
    const seen: number[] = []
    for await (const { i } of catalog.rows<{ i: number }>({ id, filter: 'i <> 1700' })) {
      if (i === 900) await catalog.deleteFromTable({ id, predicate: 'i < 2000' })
      seen.push(i)
    }
    expect(seen).toEqual(numbered(3_500).flatMap(({ i }) => (i === 1_700 ? [] : [i])))
    expect((await all(catalog.rows({ id }))).length).toBe(1_500)
    expect((await all(catalog.rows({ id, version: 1, offset: 1_200, limit: 2_000 }))).at(-1)).toEqual({
      i: 3_199,
    })
    await catalog.createTableTag({ id, tag: 'first', version: 1 })
    expect((await all(catalog.rows({ id, tag: 'first', columns: ['i'] }))).length).toBe(3_500)
    await catalog.createTableBranch({ id, name: 'dev', from_version: 1 })
    await catalog.deleteFromTable({ id, branch: 'dev', predicate: 'i > 9' })
    expect((await all(catalog.rows({ id, branch: 'dev' }))).length).toBe(10)
  })

  test('a transaction goes over its own rows', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: numbered(1_200) })
    await catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id, data: [{ i: -1 }] })
      expect((await all(tx.rows({ id }))).at(-1)).toEqual({ i: -1 })
      expect((await all(tx.rows({ id }))).length).toBe(1_201)
      expect(await all(tx.tables({ id: [] }))).toEqual([id])
    })
  })

  test('an abort and the end of a loop stop the work', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: numbered(2_500) })
    const stop = new AbortController()
    const reason = new Error('enough')
    const seen = async () => {
      for await (const { i } of catalog.rows<{ i: number }>({ id }, { signal: stop.signal }))
        if (i === 10) stop.abort(reason)
    }
    await expect(seen()).rejects.toBe(reason)
    await expect(catalog.rows({ id }, { signal: stop.signal }).next()).rejects.toBe(reason)

    const rows = catalog.rows({ id })
    const first = rows.next()
    expect(await rows.return()).toEqual({ done: true, value: undefined })
    expect(await first).toEqual({ done: true, value: undefined })
    expect(await rows.next()).toEqual({ done: true, value: undefined })
    for await (const _ of catalog.rows({ id })) break
    // Nothing is under way any more that closing would wait for.
    await catalog.close()
  })

  test('errors are those of the query', async () => {
    const catalog = await open()
    await expect(all(catalog.rows({ id: ['none'] }))).rejects.toMatchObject({ code: 'TableNotFound' })
    await catalog.declareTable({ id })
    await expect(all(catalog.rows({ id }))).rejects.toMatchObject({ code: 'InvalidTableState' })
    await catalog.createTable({ id: ['u'], data: numbered(1) })
    const wrong = { id: ['u'], limit: '5' } as never
    await expect(all(catalog.rows(wrong))).rejects.toMatchObject({ code: 'InvalidInput' })
    await expect(all(catalog.rows({ id: ['u'], filter: 'nope > 1' }))).rejects.toMatchObject({
      code: 'InvalidInput',
    })
    expect(await all(catalog.rows({ id: ['u'], limit: 0 }))).toEqual([])
  })

  test('fields that its types forbid are refused in JavaScript, and name the operation that takes them', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: numbered(2) })
    const forbidden = {
      order_by: [{ column_name: 'i', ascending: false }],
      vector: [1],
      full_text_query: { string_query: 'a' },
      k: 1,
      with_row_id: true,
    }
    for (const [field, value] of Object.entries(forbidden)) {
      const error = await all(catalog.rows({ id, [field]: value } as never)).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'InvalidInput' })
      expect(error.message).toMatch(new RegExp(`^rows takes no ${field}: .*\\. Ask queryTable`))
      expect(await all(catalog.rows({ id, [field]: undefined } as never))).toEqual(numbered(2))
    }
  })

  test('every listing may be gone over', async () => {
    const catalog = await open()
    await catalog.createNamespace({ id: ['a'] })
    for (const name of ['x', 'y', 'z']) {
      await catalog.createNamespace({ id: ['a', `n${name}`] })
      await catalog.createTable({ id: ['a', name], data: numbered(1) })
      await catalog.createTableTag({ id: ['a', 'x'], tag: name, version: 1 })
      await catalog.createTableBranch({ id: ['a', 'x'], name })
    }
    await catalog.insertIntoTable({ id: ['a', 'x'], data: numbered(1) })
    const tables = [
      ['a', 'x'],
      ['a', 'y'],
      ['a', 'z'],
    ]
    expect(await all(catalog.tables({ id: ['a'] }))).toEqual(tables)
    expect(await all(catalog.allTables())).toEqual(tables)
    expect(await all(catalog.allTables({ limit: 2 }))).toEqual(tables.slice(0, 2))
    expect(await all(catalog.namespaces({ id: ['a'] }))).toEqual([
      ['a', 'nx'],
      ['a', 'ny'],
      ['a', 'nz'],
    ])
    const versions = await all(catalog.versions({ id: ['a', 'x'], descending: true }))
    expect(versions.map(({ version }) => version)).toEqual([2, 1])
    expect((await all(catalog.tags({ id: ['a', 'x'] }))).map(({ name, version }) => [name, version])).toEqual(
      [
        ['x', 1],
        ['y', 1],
        ['z', 1],
      ],
    )
    const branches = await all(catalog.branches({ id: ['a', 'x'] }))
    expect(branches.map(({ name }) => name)).toEqual(['x', 'y', 'z'])
    await expect(all(catalog.tables({ id: ['none'] }))).rejects.toMatchObject({ code: 'NamespaceNotFound' })
  })
})

test('values of other types come out as docs/rows.md says, and go in again', async () => {
  const fake = await fakeCatalog()
  const types = {
    int32: 'int32',
    uint64: 'uint64',
    float: 'float',
    day: 'date32:day',
    second: 'timestamp:s:-',
  }
  const field = (name: string, type: object) => ({ name, nullable: true, type })
  const schema = {
    fields: [
      ...Object.entries({
        ...types,
        micro: 'timestamp:us:-',
        duration: 'duration:ms',
        time: 'time64:us',
      }).map(([name, type]) => field(name, { type })),
      field('price', { type: 'decimal:128:9:2' }),
    ],
  }
  const data = [
    {
      int32: -7,
      uint64: 2n ** 64n - 1n,
      float: 0.5,
      day: new Date('1969-12-31'),
      second: new Date('2026-01-31T12:00:01Z'),
      micro: 1_700_000_000_000_001n,
      duration: 5n,
      time: 86_399_999_999n,
      price: '-0.05',
    },
    Object.fromEntries(schema.fields.map(({ name }) => [name, null])),
  ]
  await fake.createTable({ id, data, schema })
  const rows = await all(fake.rows({ id }))
  expect(rows).toStrictEqual(data)
  await fake.insertIntoTable({ id, data: rows })
  expect(await all(fake.rows({ id, offset: 2 }))).toStrictEqual(data)
})

test('columns may have the names of members that all objects have', async () => {
  const fake = await fakeCatalog()
  const row = JSON.parse('{ "__proto__": 1, "constructor": "c" }') as Record<string, unknown>
  await fake.createTable({ id, data: [row] })
  expect(await all(fake.rows({ id }))).toStrictEqual([row])
})

describe('with pages of the test', () => {
  test('listings follow the tokens, and ask for no more than the limit', async () => {
    const fake = await fakeCatalog({
      seed: Object.fromEntries([...'abcde'].map((name) => [name, numbered(1)])),
    })
    const listTables = fake.listTables
    const asked: unknown[] = []
    Object.assign(fake, {
      listTables: (request: Parameters<Catalog['listTables']>[0]) => {
        asked.push(request.limit)
        return listTables({ ...request, limit: Math.min(request.limit ?? 2, 2) })
      },
    })
    expect(await all(fake.tables({ id: [] }))).toEqual([['a'], ['b'], ['c'], ['d'], ['e']])
    expect(await all(fake.tables({ id: [], limit: 3 }))).toEqual([['a'], ['b'], ['c']])
    expect(asked).toEqual([undefined, undefined, undefined, 3, 1])
  })

  test('few rows are one query; rows that are too wide for a page come in smaller ones', async () => {
    const fake = await fakeCatalog({ seed: { t: numbered(3) }, resultBytes: 600_000 })
    await all(fake.rows({ id, limit: 10 }))
    expect(fake.calls.of('queryTable').length).toBe(1)
    expect(fake.calls.of('describeTable').length).toBe(0)
    const wide = Array.from({ length: 300 }, (_, i) => ({ i, text: String(i % 10).repeat(10_000) }))
    await fake.createTable({ id: ['wide'], data: wide })
    expect(await all(fake.rows({ id: ['wide'] }))).toEqual(wide)
  })

  test('a page is held at a time', async () => {
    const fake = await fakeCatalog({ seed: { t: numbered(60_000) } })
    const rows = fake.rows({ id })
    await rows.next()
    const sizes = () => fake.calls.of('queryTable').map(({ request }) => (request as { limit: number }).limit)
    expect(sizes()).toEqual([1_000])
    for await (const _ of rows);
    expect(sizes()[1]).toBe(16_000)
    expect(Math.max(...sizes())).toBeLessThanOrEqual(4 * 1024 * 1024)
  })
})

test('every operation that lists has its way to go over what it lists', () => {
  // The compiler compares these with the interface, and the test with the listings there are.
  const declared: Readonly<Record<keyof Iteration, true>> = {
    rows: true,
    namespaces: true,
    tables: true,
    allTables: true,
    droppedTables: true,
    versions: true,
    tags: true,
    branches: true,
    indices: true,
    transactions: true,
  }
  const toAdd = Object.keys(iterations)
    .filter((name) => !Object.hasOwn(declared, name))
    .map((name) => `src/catalog/handle/iteration/types.ts: to Iteration, ${name}(request, options); and here`)
  expect(toAdd).toEqual([])
  expect(Object.keys(declared).filter((name) => !Object.hasOwn(iterations, name))).toEqual([])
})

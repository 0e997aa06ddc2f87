import { readdir } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { tableToIPC as apacheToIPC, tableFromArrays } from 'apache-arrow'
import * as fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { encodeArrow, joinParts, toArrowTable } from '../../../src/engine/arrow/index.ts'
import type { Catalog, RowsItem, RowsSource } from '../../../src/tabularium/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { eachCatalog, freshFolder } from '../../support/catalogs.ts'
import { countOf, rowsOf } from '../../support/rows.ts'

type Row = Record<string, unknown>

const moreRuns = Number(process.env.HISTORY_RUNS ?? 1)

const schema = {
  fields: [
    { name: 'n', type: { type: 'int64' }, nullable: true },
    { name: 'f', type: { type: 'double' }, nullable: true },
    { name: 's', type: { type: 'string' }, nullable: true },
    { name: 'b', type: { type: 'bool' }, nullable: true },
    { name: 'd', type: { type: 'dict:string:int8:false' }, nullable: true },
    {
      name: 'l',
      type: { type: 'list', fields: [{ name: 'item', type: { type: 'int32' }, nullable: true }] },
      nullable: true,
    },
    {
      name: 'o',
      type: { type: 'struct', fields: [{ name: 'x', type: { type: 'string' }, nullable: true }] },
      nullable: true,
    },
  ],
}

const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 4 })

const row: fc.Arbitrary<Row> = fc.record({
  n: orNull(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  f: orNull(fc.double({ noNaN: true })),
  s: orNull(fc.string({ unit: 'binary', maxLength: 12 })),
  b: orNull(fc.boolean()),
  d: orNull(fc.constantFrom('a', 'b', 'c', '')),
  l: orNull(fc.array(orNull(fc.integer({ min: -9, max: 9 })), { maxLength: 3 })),
  o: orNull(fc.record({ x: orNull(fc.string({ maxLength: 3 })) })),
})

/** How some rows become items, and how many of them. */
interface Piece {
  readonly rows: number
  readonly as: 'rows' | 'array' | 'table' | 'bytes'
  /** Where their bytes are cut. */
  readonly cuts: readonly number[]
}

const piece: fc.Arbitrary<Piece> = fc.record({
  rows: fc.integer({ min: 0, max: 9 }),
  as: fc.constantFrom('rows', 'array', 'table', 'bytes'),
  cuts: fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 4 }),
})

async function itemsOf(rows: readonly Row[], pieces: readonly Piece[]): Promise<RowsItem[]> {
  const items: RowsItem[] = []
  let at = 0
  const ways = [...pieces, { rows: rows.length, as: 'rows', cuts: [] } as const]
  for (const { rows: count, as, cuts } of ways) {
    const part = rows.slice(at, at + count)
    at += part.length
    if (as === 'rows') items.push(...part)
    else if (as === 'array') items.push(part)
    else {
      const table = await toArrowTable(part, { schema: schema as never })
      if (as === 'table') items.push(table)
      else {
        const columns = table.children.map(({ data }) => data as never)
        const bytes = joinParts(encodeArrow(table.schema, columns, 'stream'))
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        for (const [i, place] of places.slice(1).entries()) items.push(bytes.slice(places[i], place))
      }
    }
  }
  return items
}

const sources: Record<string, (items: readonly RowsItem[]) => RowsSource> = {
  generator: function* (items) {
    yield* items
  },
  'async generator': async function* (items) {
    yield* items
  },
  set: (items) => new Set(items),
  readable: (items) => Readable.from(items),
  stream: (items) => ReadableStream.from(items) as unknown as RowsSource,
}

const made = fc.record({
  rows: fc.array(row, { maxLength: 40 }),
  pieces: fc.array(piece, { maxLength: 8 }),
  source: fc.constantFrom(...Object.keys(sources)),
})

eachCatalog((open) => {
  it('makes the same table of rows that are split in any way as of all rows at once', async () => {
    const catalog = await open()
    await fc.assert(
      fc.asyncProperty(made, made, async (first, second) => {
        const given = async ({ rows, pieces, source }: typeof first) =>
          sources[source]!(await itemsOf(rows, pieces))
        const create = { mode: 'Overwrite', schema } as const
        await catalog.createTable({ id: ['whole'], ...create, data: first.rows })
        await catalog.createTable({ id: ['parts'], ...create, data: await given(first) })
        await catalog.insertIntoTable({ id: ['whole'], data: second.rows })
        const { version, num_inserted_rows } = await catalog.insertIntoTable({
          id: ['parts'],
          data: await given(second),
        })
        expect({ version, num_inserted_rows }).toEqual({
          version: 2,
          num_inserted_rows: second.rows.length,
        })
        expect(await stateOf(catalog, 'parts')).toEqual(await stateOf(catalog, 'whole'))
        await catalog.insertIntoTable({ id: ['parts'], mode: 'Overwrite', data: await given(first), schema })
        expect(await exactRows(catalog, 'parts')).toEqual(await exactRows(catalog, 'whole', 1))
      }),
      { numRuns: 10 * moreRuns },
    )
  })

  it('leaves no version where a source fails, is stopped or changes at any row', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
    await fc.assert(
      fc.asyncProperty(
        fc.nat(60),
        fc.constantFrom('throws', 'aborts', 'other column', 'other type', 'no row'),
        fc.boolean(),
        async (at, fault, creates) => {
          const stop = new AbortController()
          let ended = false
          const data = failing(at, fault, stop, () => {
            ended = true
          })
          const call = creates
            ? catalog.createTable({ id: ['made'], data, schema: numbers }, { signal: stop.signal })
            : catalog.insertIntoTable({ id: ['t'], data }, { signal: stop.signal })
          await expect(call).rejects.toThrow(reasons[fault])
          if (fault !== 'aborts') expect(ended).toBe(true)
          const { versions } = await catalog.listTableVersions({ id: ['t'] })
          expect(versions.map(({ version }) => version)).toEqual([1])
          expect((await catalog.listAllTables({})).tables).toEqual(['t'])
        },
      ),
      { numRuns: 15 * moreRuns },
    )
    expect(await countOf(catalog, ['t'])).toBe(1)
  })

  it('gives the rows of a source to a declared table, and to a branch', async () => {
    const catalog = await open()
    await catalog.declareTable({ id: ['declared'] })
    await catalog.createTable({ id: ['declared'], data: counted(5) })
    expect(await countOf(catalog, ['declared'])).toBe(5)
    await catalog.declareTable({ id: ['inserted'] })
    const { version } = await catalog.insertIntoTable({ id: ['inserted'], data: counted(7) })
    expect([version, await countOf(catalog, ['inserted'])]).toEqual([1, 7])
    await catalog.createTableBranch({ id: ['inserted'], name: 'b' })
    await catalog.insertIntoTable({ id: ['inserted'], branch: 'b', data: counted(2) })
    expect(await countOf(catalog, ['inserted'], { branch: 'b' })).toBe(9)
    expect(await countOf(catalog, ['inserted'])).toBe(7)
  })

  it('adds the rows of a source inside of a transaction', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['t'], data: [{ n: 0 }] })
    await catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id: ['t'], data: [{ n: 1 }] })
      await tx.insertIntoTable({ id: ['t'], data: counted(3) })
      await tx.createTable({ id: ['made'], data: counted(4) })
    })
    expect([await countOf(catalog, ['t']), await countOf(catalog, ['made'])]).toEqual([5, 4])
  })

  it('refuses a source that was read before, rather than to insert nothing', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['t'], data: [{ n: 0 }] })
    const data = counted(3)
    await catalog.insertIntoTable({ id: ['t'], data })
    await expect(catalog.insertIntoTable({ id: ['t'], data })).rejects.toThrow(/read before/)
    expect(await countOf(catalog, ['t'])).toBe(4)
  })

  it('takes record batches of apache-arrow', async () => {
    const catalog = await open()
    const { batches } = tableFromArrays({ n: new Float64Array([1, 2, 3]) })
    await catalog.createTable({ id: ['t'], data: batches })
    await catalog.insertIntoTable({ id: ['t'], data: [apacheToIPC(tableFromArrays({ n: [4] }))].values() })
    expect((await rowsOf(catalog, ['t'])).map(({ n }) => n)).toEqual([1, 2, 3, 4])
  })
})

const numbers = { fields: [{ name: 'n', type: { type: 'double' }, nullable: true }] }

const reasons: Record<string, RegExp> = {
  throws: /the well is dry/,
  aborts: /enough/,
  'other column': /"?m"?/,
  'other type': /row \d+/i,
  'no row': /item|row/i,
}

function* counted(count: number): Generator<Row> {
  for (let n = 0; n < count; n++) yield { n }
}

async function* failing(at: number, fault: string, stop: AbortController, onEnd: () => void) {
  try {
    for (let n = 0; n < 70; n++) {
      if (n === at) {
        if (fault === 'throws') throw new Error('the well is dry')
        if (fault === 'aborts') stop.abort(new Error('enough'))
        if (fault === 'other column') yield { n, m: 1 }
        if (fault === 'other type') yield { n: 'one' }
        if (fault === 'no row') yield 5 as unknown as Row
      }
      yield { n }
    }
  } finally {
    onEnd()
  }
}

async function exactRows(catalog: Catalog, name: string, version?: number): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const row of catalog.rows({ id: [name], ...(version && { version }) })) rows.push(row)
  return rows
}

async function stateOf(catalog: Catalog, name: string) {
  const { schema } = await catalog.describeTable({ id: [name], load_detailed_metadata: true })
  return { schema, rows: await exactRows(catalog, name) }
}

test('a source is pulled only as fast as its rows are written', async () => {
  await using catalog = await openCatalog('memory:')
  let pulled = 0
  async function* data(): AsyncGenerator<Row> {
    for (; pulled < 20_000; ) yield { n: pulled++, text: 'x'.repeat(100) }
  }
  const waits: number[] = []
  const progress = ({ rows }: { rows: number }) => waits.push(pulled - rows)
  await catalog.createTable({ id: ['t'], data: data() }, { onProgress: progress })
  // Before the first rows are written, the types of their columns are found.
  expect(Math.max(...waits)).toBeLessThanOrEqual(2 * 8_192)
  expect(await countOf(catalog, ['t'])).toBe(20_000)
})

test('a source that fails after fragments were written leaves no file', async () => {
  const folder = await freshFolder()
  await using catalog = await openCatalog(folder)
  await catalog.createTable({ id: ['t'], data: [{ text: 'first' }] })
  const before = await filesOf(folder)
  const text = 'x'.repeat(1_000_000)
  let most = 0
  async function* data(): AsyncGenerator<Row> {
    for (let n = 0; n < 60; n++) {
      yield { text }
      most = Math.max(most, (await filesOf(folder)).length)
    }
    throw new Error('the well is dry')
  }
  await expect(catalog.insertIntoTable({ id: ['t'], data: data() })).rejects.toThrow(/the well is dry/)
  expect(most).toBeGreaterThan(before.length)
  expect(await filesOf(folder)).toEqual(before)
  await expect(catalog.createTable({ id: ['u'], data: data() })).rejects.toThrow(/the well is dry/)
  expect(await filesOf(folder)).toEqual(before)
})

/** The files of rows in a catalog's directory. */
async function filesOf(folder: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true })
  return all.filter((name) => /\.(arrow|json)$/.test(name)).sort()
}

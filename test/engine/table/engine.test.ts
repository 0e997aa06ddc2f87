import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { decodeArrow, type Snapshot, tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import { fixture, plain } from '../arrow/fixtures.ts'

async function setUp(options: { fragmentRows?: number; cacheBytes?: number; levels?: number[] } = {}) {
  const content = memoryContent()
  const engine = tableEngine({ content, ...options })
  const rowsOf = async (snapshot: Snapshot, query = {}) =>
    (await decodeArrow(await engine.queryRows(snapshot, query))).toArray().map(plain)
  const paths = async (prefix = '') => {
    const found: string[] = []
    for await (const { path } of content.list(prefix)) found.push(path)
    return found
  }
  return { content, engine, rowsOf, paths }
}

const numbers = (start: number, count: number) => Array.from({ length: count }, (_, i) => ({ n: start + i }))

describe('a table', () => {
  test('of every type comes back as it was', async () => {
    const { engine, rowsOf, content } = await setUp({ fragmentRows: 64 })
    const table = await decodeArrow(fixture('types.arrows'))
    const snapshot = await engine.create('t', table)
    expect(snapshot).toMatchObject({ prefix: 't/', rows: 13, deletedRows: 0, fragments: 1 })
    expect(snapshot.metadata).toEqual(new Map([['k', 'v']]))
    const expected = table.toArray().map(plain)
    expect(await rowsOf(snapshot)).toEqual(expected)
    // Read by an engine that never saw it, and column by column.
    const other = tableEngine({ content, cacheBytes: 0 })
    const opened = await other.open('t', snapshot.manifest)
    expect(opened.schema.metadata).toEqual(table.schema.metadata)
    for (const name of table.names as string[]) {
      const answer = await decodeArrow(await other.queryRows(opened, { columns: [name] }))
      expect(Array.from(answer.children[0]!, plain), name).toEqual(Array.from(table.getChild(name)!, plain))
    }
  })

  test('is cut into fragments that any Arrow reader opens', async () => {
    const { engine, rowsOf, content, paths } = await setUp({ fragmentRows: 128, levels: [] })
    const table = await decodeArrow(fixture('types.arrows'))
    let snapshot = await engine.create('t', table)
    for (let i = 0; i < 30; i++) {
      const insert = await engine.insertRows(snapshot, table)
      snapshot = (await insert.apply(snapshot)).snapshot
    }
    const all = await engine.overwriteRows('t', await decodeArrow(await engine.queryRows(snapshot)))
    const { snapshot: whole, affected } = await all.apply(snapshot)
    expect(affected).toBe(31 * 13)
    expect(whole.fragments).toBe(4)
    expect(await rowsOf(whole)).toEqual(await rowsOf(snapshot))
    let rows = 0
    for (const path of await paths('t/data/')) rows += (await decodeArrow((await content.get(path))!)).numRows
    expect(rows).toBe(2 * 31 * 13)
  })

  test('may have no rows', async () => {
    const { engine, rowsOf } = await setUp()
    const snapshot = await engine.create('', await decodeArrow(fixture('schema-only.arrows')))
    expect(snapshot).toMatchObject({ prefix: '', rows: 0, fragments: 0 })
    expect(await rowsOf(snapshot)).toEqual([])
    expect(await engine.countRows(snapshot)).toBe(0)
    const insert = await engine.insertRows(snapshot, await decodeArrow(fixture('types.arrows')))
    expect((await insert.apply(snapshot)).affected).toBe(13)
  })

  test('keeps dictionaries apart that are too many for one', async () => {
    const { engine, rowsOf } = await setUp()
    const fields = [
      { name: 'index', nullable: true, type: { type: 'uint8' } },
      { name: 'value', nullable: true, type: { type: 'string' } },
    ]
    const schema = { fields: [{ name: 'w', nullable: true, type: { type: 'dictionary', fields } }] }
    const words = (prefix: string) => Array.from({ length: 200 }, (_, i) => ({ w: `${prefix}${i}` }))
    let snapshot = await engine.create('t', await toArrowTable(words('a'), { schema }))
    const insert = await engine.insertRows(snapshot, await toArrowTable(words('b'), { schema }))
    snapshot = (await insert.apply(snapshot)).snapshot
    // An answer is one file with one dictionary, so its indices become wider.
    expect(await rowsOf(snapshot)).toEqual([...words('a'), ...words('b')])
  })
})

test('a few rows do not carry along a dictionary of many', async () => {
  const { engine, rowsOf } = await setUp({ fragmentRows: 64 })
  const fields = [
    { name: 'index', nullable: true, type: { type: 'int32' } },
    { name: 'value', nullable: true, type: { type: 'string' } },
  ]
  const schema = { fields: [{ name: 'w', nullable: true, type: { type: 'dictionary', fields } }] }
  const rows = Array.from({ length: 1000 }, (_, i) => ({ w: i % 9 === 0 ? null : `word ${i}` }))
  const snapshot = await engine.create('t', await toArrowTable(rows, { schema }))
  expect(await rowsOf(snapshot)).toEqual(rows)
  const plainText = await engine.create('u', await toArrowTable(rows))
  expect(snapshot.bytes).toBeLessThan(plainText.bytes * 2)
})

describe('changes', () => {
  test('insert, overwrite, metadata and restore give new versions and leave the old ones', async () => {
    const { engine, rowsOf } = await setUp()
    const one = await engine.create('t', await toArrowTable(numbers(0, 3)), { version: 1 })
    expect(one.manifest.path).toMatch(/^_versions\/0000000001-/)
    const insert = await engine.insertRows(one, await toArrowTable(numbers(3, 2)))
    const two = await insert.apply(one)
    expect(two.affected).toBe(2)
    const three = await engine.replaceSchemaMetadata({ a: 'b' }).apply(two.snapshot)
    const replaced = await engine.overwriteRows('t', await toArrowTable([{ other: 'x' }]))
    const four = await replaced.apply(three.snapshot)
    const five = await engine.restoreTo(two.snapshot).apply(four.snapshot)
    expect(await rowsOf(one)).toEqual(numbers(0, 3))
    expect(await rowsOf(two.snapshot)).toEqual(numbers(0, 5))
    expect(three.snapshot.metadata).toEqual(new Map([['a', 'b']]))
    expect(await rowsOf(four.snapshot)).toEqual([{ other: 'x' }])
    expect(four.snapshot.metadata.size).toBe(0)
    expect(await rowsOf(five.snapshot)).toEqual(numbers(0, 5))
    expect(five.snapshot.manifest).not.toEqual(two.snapshot.manifest)
  })

  test('an insert is applied to whatever the table has become, writing its rows once', async () => {
    const { engine, rowsOf, paths } = await setUp()
    const base = await engine.create('t', await toArrowTable(numbers(0, 2)))
    const first = await engine.insertRows(base, await toArrowTable(numbers(2, 2)))
    const second = await engine.insertRows(base, await toArrowTable(numbers(4, 2)))
    const fragments = (await paths('t/data/')).length
    const won = await first.apply(base)
    await second.apply(base) // lost
    const rebased = await second.apply(won.snapshot)
    expect(await rowsOf(rebased.snapshot)).toEqual(numbers(0, 6))
    expect((await paths('t/data/')).length).toBe(fragments)
  })

  test('an insert into a table whose columns were replaced meanwhile is a conflict', async () => {
    const { engine } = await setUp()
    const base = await engine.create('t', await toArrowTable(numbers(0, 2)))
    const insert = await engine.insertRows(base, await toArrowTable(numbers(2, 2)))
    const overwritten = await (await engine.overwriteRows('t', await toArrowTable([{ n: 'x' }]))).apply(base)
    await expect(insert.apply(overwritten.snapshot)).rejects.toMatchObject({ code: 'ConcurrentModification' })
  })

  test('rows of another schema are refused, saying which column differs', async () => {
    const { engine, rowsOf, paths } = await setUp()
    const schema = {
      fields: [
        { name: 'a', nullable: false, type: { type: 'int32' } },
        { name: 'b', nullable: true, type: { type: 'string' } },
      ],
    }
    const base = await engine.create('t', await toArrowTable([{ a: 1, b: 'x' }], { schema }))
    const before = await paths()
    const attempt = async (rows: Record<string, unknown>[]) =>
      engine.insertRows(base, await toArrowTable(rows))
    const loose = async (nullable: boolean, a: number | null) => {
      const [first, second] = schema.fields
      const other = { fields: [second!, { ...first!, nullable }] }
      return engine.insertRows(base, await toArrowTable([{ a, b: 'y' }], { schema: other }))
    }
    await expect(attempt([{ a: 'one', b: 'x' }])).rejects.toMatchObject({
      code: 'TableSchemaValidationError',
      message: expect.stringContaining('Column "a" is string and not int32'),
    })
    await expect(attempt([{ a: 1, c: 1 }])).rejects.toThrow('Column "c" is not in the table')
    await expect(attempt([{ b: 'x' }])).rejects.toThrow('Append with different schema: column "a" is missing')
    await expect(loose(true, null)).rejects.toThrow('The field `a` contained null values')
    expect(await paths()).toEqual(before)
    // Another order, and a column that may be null but is not, are fine.
    const { snapshot } = await (await loose(true, 2)).apply(base)
    expect(await rowsOf(snapshot)).toEqual([
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ])
  })

  test('an append to many fragments writes a small manifest', async () => {
    const { engine, rowsOf, content } = await setUp({ levels: [] })
    const row = await toArrowTable(numbers(0, 1))
    let snapshot = await engine.create('t', row)
    const insert = await engine.insertRows(snapshot, row)
    for (let i = 0; i < 1500; i++) snapshot = (await insert.apply(snapshot)).snapshot
    expect(snapshot).toMatchObject({ rows: 1501, fragments: 1501 })
    expect(snapshot.manifest.size).toBeLessThan(200_000)
    const opened = await tableEngine({ content }).open('t', snapshot.manifest)
    expect(opened.rows).toBe(1501)
    expect(await rowsOf(opened, { offset: 1495 })).toHaveLength(6)
  })

  test('work that is aborted throws the reason', async () => {
    const { engine } = await setUp()
    const base = await engine.create('t', await toArrowTable(numbers(0, 2)))
    const signal = AbortSignal.abort(new Error('enough'))
    const table = await toArrowTable(numbers(0, 2))
    await expect(engine.create('u', table, { signal })).rejects.toThrow('enough')
    await expect(engine.insertRows(base, table, { signal })).rejects.toThrow('enough')
    await expect(engine.queryRows(base, { signal })).rejects.toThrow('enough')
    await expect(engine.countRows(base, { signal })).rejects.toThrow('enough')
    await expect(engine.replaceSchemaMetadata({}).apply(base, { signal })).rejects.toThrow('enough')
  })

  test('writing reports progress up to all rows', async () => {
    const { engine } = await setUp({ fragmentRows: 64 })
    const seen: unknown[] = []
    await engine.create('t', await toArrowTable(numbers(0, 150)), {
      onProgress: (progress) => seen.push(progress),
    })
    expect(seen).toEqual([64, 128, 150].map((rowsDone) => ({ rowsDone, rowsTotal: 150 })))
  })
})

describe('queries', () => {
  test('pick columns, rename them and look into structs', async () => {
    const { engine, rowsOf } = await setUp()
    const rows = [
      { a: 1, s: { x: 1, 'y.z': { w: 'deep' } }, 'q.r': 5 },
      { a: 2, s: null, 'q.r': 6 },
    ]
    const snapshot = await engine.create('t', await toArrowTable(rows))
    expect(await rowsOf(snapshot, { columns: ['s.x', 'a', 'q.r'] })).toEqual([
      { 's.x': 1, a: 1, 'q.r': 5 },
      { 's.x': null, a: 2, 'q.r': 6 },
    ])
    expect(await rowsOf(snapshot, { columns: { deep: 's.`y.z`.w' }, limit: 1 })).toEqual([{ deep: 'deep' }])
    await expect(rowsOf(snapshot, { columns: ['s.nope'] })).rejects.toMatchObject({
      code: 'TableColumnNotFound',
    })
    for (const columns of [[], ['a', 'a'], ['a.'], ['`a'], [''], [5 as never]]) {
      await expect(rowsOf(snapshot, { columns })).rejects.toMatchObject({ code: 'InvalidInput' })
    }
  })

  test('begin and end where they should, whatever the fragments', async () => {
    const { engine, rowsOf } = await setUp({ fragmentRows: 64 })
    const snapshot = await engine.create('t', await toArrowTable(numbers(0, 200)))
    for (const [offset, limit] of [
      [0, 0],
      [0, 1],
      [63, 2],
      [64, 64],
      [130, 100],
      [199, 5],
      [200, 5],
      [500, 1],
    ]) {
      expect(await rowsOf(snapshot, { offset, limit })).toEqual(
        numbers(0, 200).slice(offset, offset! + limit!),
      )
    }
    for (const limit of [-1, 0.5, Number.NaN]) {
      await expect(rowsOf(snapshot, { limit })).rejects.toMatchObject({ code: 'InvalidInput' })
    }
  })
})

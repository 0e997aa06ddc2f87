import { fixedSizeList, float32, int8, int16, int64, largeUtf8, utf8 } from '@uwdata/flechette'
import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import {
  type Change,
  decodeArrow,
  fromJsonSchema,
  type JsonArrowType,
  metadataOf,
  type SchemaChange,
  type Snapshot,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { fixture, plain } from '../../arrow/fixtures.ts'

function setUp(options: { fragmentRows?: number } = {}) {
  const content = memoryContent()
  const engine = tableEngine({ content, ...options })
  const rowsOf = async (snapshot: Snapshot, query = {}) =>
    (await decodeArrow(await engine.queryRows(snapshot, query))).toArray().map(plain) as Row[]
  const files = async () => {
    const found: string[] = []
    for await (const { path } of content.list('t/')) if (!path.includes('_versions')) found.push(path)
    return found
  }
  const make = async (snapshot: Snapshot, change: SchemaChange | Change) => {
    if ('prepare' in change) await change.prepare(snapshot)
    return (await change.apply(snapshot)).snapshot
  }
  const create = async (rows: readonly Row[], types: Readonly<Record<string, string | JsonArrowType>>) =>
    engine.create('t', await toArrowTable(rows, { schema: schemaOf(types) }))
  const manifest = async (snapshot: Snapshot) =>
    Buffer.from((await content.get(snapshot.prefix + snapshot.manifest.path))!).toString()
  return { content, engine, rowsOf, files, make, create, manifest }
}

type Row = Readonly<Record<string, unknown>>

function schemaOf(types: Readonly<Record<string, string | JsonArrowType>>) {
  const fields = Object.entries(types).map(([name, type]) => ({
    name: name.replace('!', ''),
    type: typeof type === 'string' ? { type } : type,
    nullable: !name.endsWith('!'),
  }))
  return fromJsonSchema({ fields })
}

function nullField(name: string, type: string | JsonArrowType) {
  return schemaOf({ [name]: type }).fields[0]!
}

const struct = (...names: string[]): JsonArrowType => ({
  type: 'struct',
  fields: names.map((name) => ({ name, type: { type: 'int32' }, nullable: true })),
})

const counted = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ n, twice: 2 * n, text: `r${n}` }))
const types = { n: 'int32', twice: 'int32', text: 'string' }

describe('a change of columns', () => {
  test('writes nothing but the columns that it makes', async () => {
    const { engine, make, create, files, rowsOf, content } = setUp({ fragmentRows: 64 })
    let snapshot = await create(counted(200), types)
    const before = await files()
    snapshot = await make(snapshot, engine.addColumns([{ field: nullField('later', 'string') }]))
    snapshot = await make(snapshot, engine.alterColumns([{ path: 'text', rename: 'name', nullable: false }]))
    snapshot = await make(snapshot, engine.dropColumns(['twice']))
    snapshot = await make(snapshot, engine.updateFieldMetadata([{ path: 'n', metadata: { unit: 'm' } }]))
    expect(await files()).toEqual(before)
    snapshot = await make(snapshot, engine.addColumns([{ name: 'next', expression: 'n + 1' }]))
    const added = (await files()).filter((path) => !before.includes(path))
    expect(added).toHaveLength(4)
    for (const path of added) {
      const file = await decodeArrow((await content.get(path))!)
      expect(file.names).toEqual(['next'])
    }
    expect((await rowsOf(snapshot))[130]).toEqual({ n: 130, name: 'r130', later: null, next: 131 })
    expect(metadataOf(snapshot.schema, ['n'])).toEqual({ n: { unit: 'm' } })
  })

  test('leaves manifests that earlier releases read, unless columns come or go', async () => {
    const { engine, make, create, manifest } = setUp()
    let snapshot = await create(counted(3), types)
    snapshot = await make(snapshot, engine.alterColumns([{ path: 'n', rename: 'm', nullable: true }]))
    snapshot = await make(snapshot, engine.updateFieldMetadata([{ path: 'm', metadata: { a: 'b' } }]))
    expect(await manifest(snapshot)).toMatch(/^\{"tabularium":"manifest","format":1,.*(?!"columns")/)
    snapshot = await make(snapshot, engine.dropColumns(['m']))
    expect(await manifest(snapshot)).toMatch(/^\{"tabularium":"manifest","format":2,/)
  })

  test('fits all types, before and after optimizing', async () => {
    const { engine, make, rowsOf } = setUp({ fragmentRows: 64 })
    const table = await decodeArrow(fixture('types.arrows'))
    const names = table.names as string[]
    let snapshot = await engine.create('t', table)
    const expected = table.toArray().map(plain) as Row[]
    for (const gone of [names[0]!, names[5]!, names.at(-1)!]) {
      snapshot = await make(snapshot, engine.dropColumns([gone]))
    }
    const fields = table.schema.fields.map((field) => ({ ...field, name: `${field.name}_2`, nullable: true }))
    snapshot = await make(snapshot, engine.addColumns(fields.map((field) => ({ field }))))
    const left = names.filter((name) => ![names[0], names[5], names.at(-1)].includes(name))
    const firsts = async () => (await rowsOf(snapshot, { columns: left })).slice(0, 13)
    const wanted = expected.map((row) => Object.fromEntries(left.map((name) => [name, row[name]])))
    expect(await firsts()).toEqual(wanted)
    const nulls = await rowsOf(snapshot, { columns: fields.map(({ name }) => name) })
    for (const { name, type } of fields) {
      const isUnionOrRuns = type.typeId === 14 || type.typeId === 22
      if (!isUnionOrRuns)
        expect(
          nulls.map((row) => row[name]),
          name,
        ).toEqual(nulls.map(() => null))
    }
    snapshot = await make(snapshot, await engine.optimizeRows(snapshot))
    expect(await firsts()).toEqual(wanted)
  })

  test('reaches fields of structs', async () => {
    const { engine, make, create, rowsOf } = setUp({ fragmentRows: 64 })
    const rows = Array.from({ length: 100 }, (_, a) => ({ s: a % 4 === 0 ? null : { a, b: -a, c: 1 }, k: a }))
    let snapshot = await create(rows, { s: struct('a', 'b', 'c'), k: 'int32' })
    const first = snapshot
    snapshot = await make(
      snapshot,
      engine.alterColumns([
        { path: 's.a', rename: 'id', type: int64() },
        { path: 's', rename: 't' },
      ]),
    )
    snapshot = await make(snapshot, engine.dropColumns(['t.b']))
    expect((await rowsOf(snapshot))[97]).toEqual({ t: { id: 97n, c: 1 }, k: 97 })
    expect((await rowsOf(snapshot))[96]).toEqual({ t: null, k: 96 })
    expect(await rowsOf(snapshot, { columns: { c: 't.c' }, filter: 't.id = 99' })).toEqual([{ c: 1 }])
    snapshot = await make(snapshot, engine.dropColumns(['t.c']))
    expect(await engine.countRows(snapshot, { predicate: 't.id > 90' })).toBe(7)
    snapshot = await make(snapshot, engine.dropColumns(['t.id']))
    expect(snapshot.schema.fields.map(({ name }) => name)).toEqual(['k'])
    expect((await rowsOf(first))[97]).toEqual({ s: { a: 97, b: -97, c: 1 }, k: 97 })
    await expect(make(snapshot, engine.dropColumns(['k']))).rejects.toThrow('at least one column')
  })

  test('names the row that makes it fail, and does not look at deleted ones', async () => {
    const { engine, make, create, rowsOf } = setUp({ fragmentRows: 64 })
    let snapshot = await create(counted(300), types)
    const narrow = () => engine.alterColumns([{ path: 'twice', type: int8() }])
    await expect(make(snapshot, narrow())).rejects.toThrow('holds 128, which int8 cannot hold, in row 64')
    const divide = () => engine.addColumns([{ name: 'd', expression: '1 / (n - 250)' }])
    await expect(make(snapshot, divide())).rejects.toThrow('row 250')
    snapshot = await make(snapshot, engine.deleteRows('n = 250 OR n BETWEEN 10 AND 19'))
    await expect(make(snapshot, narrow())).rejects.toThrow('in row 54')
    snapshot = await make(snapshot, divide())
    snapshot = await make(snapshot, engine.deleteRows('twice > 127'))
    snapshot = await make(snapshot, narrow())
    expect(await rowsOf(snapshot, { offset: 9, limit: 2 })).toEqual([
      { n: 9, twice: 18, text: 'r9', d: 0n },
      { n: 20, twice: 40, text: 'r20', d: 0n },
    ])
  })

  test('makes a column not nullable only where no row is null', async () => {
    const { engine, make, create } = setUp({ fragmentRows: 64 })
    const rows = Array.from({ length: 150 }, (_, n) => ({ n: n === 140 ? null : n, s: { a: n, b: null } }))
    let snapshot = await create(rows, { n: 'int32', s: struct('a', 'b') })
    const strict = (path: string) => engine.alterColumns([{ path, nullable: false }])
    await expect(make(snapshot, strict('n'))).rejects.toThrow('"n" is null in row 140')
    await expect(make(snapshot, strict('s.b'))).rejects.toThrow('"s.b" is null in row 0')
    snapshot = await make(snapshot, strict('s.a'))
    const late = strict('n')
    snapshot = await make(snapshot, engine.deleteRows('n IS NULL'))
    snapshot = await make(snapshot, late)
    expect(snapshot.schema.fields[0]!.nullable).toBe(false)
    await expect(toArrowTable([{ n: null, s: null }], { schema: snapshot.schema })).rejects.toThrow('null')
  })

  test('refuses what no table can have', async () => {
    const { engine, make, create } = setUp()
    const snapshot = await create([{ x: 1, y: 2, s: { a: 1, b: 2 } }], {
      x: 'int32',
      y: 'int32',
      s: struct('a', 'b'),
    })
    const refused = async (change: SchemaChange, text: string, code = 'InvalidInput') => {
      for (const attempt of [() => change.check(snapshot), () => make(snapshot, change)]) {
        await expect(attempt()).rejects.toMatchObject({ code, message: expect.stringContaining(text) })
      }
    }
    const add = (name: string) => engine.addColumns([{ field: nullField(name, 'int32') }])
    await refused(add('x'), 'column "x" already')
    await refused(add(''), 'empty')
    await refused(add('s.c'), 'a dot')
    await refused(add('_rowid'), 'another name')
    await refused(engine.addColumns([{ name: 'y', expression: '1' }]), 'column "y" already')
    await refused(engine.addColumns([{ name: 'z', expression: 'x + w' }]), 'w')
    await refused(
      engine.addColumns([{ field: { ...nullField('z', 'int32'), nullable: false } }]),
      'must not be null',
    )
    await refused(engine.alterColumns([{ path: 'x', rename: 'y' }]), 'column "y" already')
    await refused(engine.alterColumns([{ path: 's.a', rename: 'b' }]), 'column "b" already')
    await refused(engine.alterColumns([{ path: 's.a', rename: '' }]), 'empty')
    await refused(engine.alterColumns([{ path: 'x', type: utf8() }]), 'cannot become string')
    await refused(
      engine.alterColumns([
        { path: 'x', rename: 'a' },
        { path: 'x', rename: 'b' },
      ]),
      'twice',
    )
    const missing = ['X', 'nope', 's.c', 'x.y']
    for (const path of missing) {
      await refused(engine.dropColumns([path]), path, 'TableColumnNotFound')
      await refused(engine.alterColumns([{ path, nullable: true }]), path, 'TableColumnNotFound')
      await refused(engine.updateFieldMetadata([{ path, metadata: {} }]), path, 'TableColumnNotFound')
    }
    await refused(engine.dropColumns(['x', 'y', 's.a', 's.b']), 'at least one column')
    // Other cases of a name are other names, as for the reference.
    expect((await make(snapshot, add('X'))).schema.fields).toHaveLength(4)
  })
})

describe('a change that others came before', () => {
  test('rows of the columns before stay, where new ones may be null', async () => {
    const { engine, make, create, rowsOf } = setUp({ fragmentRows: 64 })
    const base = await create(counted(70), types)
    const insert = async () =>
      engine.insertRows(
        base,
        await toArrowTable([{ n: 1000, twice: 2000, text: 'x' }], { schema: base.schema }),
      )
    const added = await make(base, engine.addColumns([{ field: nullField('later', 'int64') }]))
    const both = await make(added, await insert())
    expect((await rowsOf(both)).at(-1)).toEqual({ n: 1000, twice: 2000, text: 'x', later: null })
    for (const change of [
      engine.dropColumns(['twice']),
      engine.alterColumns([{ path: 'n', rename: 'm' }]),
      engine.alterColumns([{ path: 'n', type: int64() }]),
      engine.alterColumns([{ path: 'n', nullable: false }]),
      engine.addColumns([{ name: 'c', expression: '1' }]),
    ]) {
      const changed = await make(base, change)
      await expect(make(changed, await insert())).rejects.toMatchObject({ code: 'ConcurrentModification' })
    }
  })

  test('rows that were inserted meanwhile are computed, too', async () => {
    const { engine, make, create, rowsOf } = setUp({ fragmentRows: 64 })
    const base = await create(counted(70), types)
    const change = engine.addColumns([{ name: 'next', expression: 'n + 1' }])
    await change.prepare(base)
    const more = await make(
      base,
      await engine.insertRows(base, await toArrowTable(counted(5), { schema: base.schema })),
    )
    const less = await make(more, engine.deleteRows('n = 3'))
    const { snapshot } = await change.apply(less)
    expect((await rowsOf(snapshot)).map((row) => row.next)).toEqual(
      [...counted(70), ...counted(5)].flatMap(({ n }) => (n === 3 ? [] : n + 1)),
    )
  })

  test('a deletion follows columns that changed their names', async () => {
    const { engine, make, create, rowsOf } = setUp()
    const base = await create(counted(70), types)
    const deletion = engine.deleteRows('n >= 10')
    await deletion.apply(base)
    const swapped = await make(
      base,
      engine.alterColumns([
        { path: 'n', rename: 'twice' },
        { path: 'twice', rename: 'n' },
      ]),
    )
    expect((await rowsOf(await make(swapped, deletion))).map((row) => row.n)).toEqual([0, 2, 4, 6, 8])
  })

  test('two changes of columns are both made', async () => {
    const { engine, make, create, rowsOf } = setUp()
    const base = await create(counted(3), types)
    const cast = engine.alterColumns([{ path: 'n', type: int16() }])
    const add = engine.addColumns([{ name: 'next', expression: 'twice + 1' }])
    await cast.prepare(base)
    await add.prepare(base)
    const renamed = await make(base, engine.alterColumns([{ path: 'text', rename: 'name' }]))
    const both = (await add.apply((await cast.apply(renamed)).snapshot)).snapshot
    expect(await rowsOf(both)).toEqual(
      counted(3).map(({ n, twice, text }) => ({ n, twice, name: text, next: twice + 1 })),
    )
    await expect(add.apply(both)).rejects.toThrow('column "next" already')
  })
})

test('a column of nulls takes no room, in files and in memory', async () => {
  const { engine, make, create, rowsOf, files } = setUp()
  let snapshot = await create(counted(20_000), types)
  snapshot = await make(
    snapshot,
    await engine.insertRows(snapshot, await toArrowTable(counted(20_000), { schema: snapshot.schema })),
  )
  const vector = { name: 'v', type: fixedSizeList(float32(), 4096), nullable: true, metadata: null as never }
  snapshot = await make(snapshot, engine.addColumns([{ field: vector }]))
  const { bytes } = snapshot
  expect(await engine.countRows(snapshot, { predicate: 'v IS NULL' })).toBe(40_000)
  expect(await rowsOf(snapshot, { columns: ['n', 'v'], limit: 1, offset: 30_000 })).toEqual([
    { n: 10_000, v: null },
  ])
  snapshot = await make(snapshot, await engine.optimizeRows(snapshot))
  expect(snapshot.fragments).toBe(1)
  expect(snapshot.bytes).toBeLessThan(bytes * 1.2)
  expect(await files()).toHaveLength(3)
})

test('optimizing leaves out the bytes of columns that are gone', async () => {
  const { engine, make, create, rowsOf } = setUp()
  let snapshot = await create(
    Array.from({ length: 1000 }, (_, n) => ({ n, text: 'long '.repeat(20) })),
    { n: 'int32', text: 'string' },
  )
  const { bytes } = snapshot
  snapshot = await make(snapshot, engine.dropColumns(['text']))
  expect(snapshot.bytes).toBe(bytes)
  expect(await engine.isOptimized(snapshot)).toBe(false)
  snapshot = await make(snapshot, await engine.optimizeRows(snapshot))
  expect(snapshot.bytes).toBeLessThan(bytes / 10)
  expect(await engine.isOptimized(snapshot)).toBe(true)
  expect(await rowsOf(snapshot, { limit: 1 })).toEqual([{ n: 0 }])
})

test('columns that are null in old fragments are not looked for there', async () => {
  const { engine, make, create, content } = setUp({ fragmentRows: 64 })
  let snapshot = await create(counted(640), types)
  snapshot = await make(snapshot, engine.addColumns([{ field: nullField('x', 'int32') }]))
  snapshot = await make(
    snapshot,
    await engine.insertRows(
      snapshot,
      await toArrowTable([{ n: 1, twice: 2, text: 'a', x: 7 }], { schema: snapshot.schema }),
    ),
  )
  let reads = 0
  const counting = {
    ...content,
    get: (...given: Parameters<typeof content.get>) => {
      reads++
      return content.get(...given)
    },
  }
  const fresh = tableEngine({ content: counting })
  const opened = await fresh.open('t', snapshot.manifest)
  reads = 0
  expect(await fresh.countRows(opened, { predicate: 'x = 7' })).toBe(1)
  expect(await fresh.countRows(opened, { predicate: 'x IS NULL' })).toBe(640)
  expect(reads).toBeLessThan(4)
})

test('texts and bytes get wider offsets', async () => {
  const { engine, make, create, rowsOf } = setUp()
  let snapshot = await create([{ t: 'a' }, { t: null }, { t: 'bc' }], { t: 'string' })
  snapshot = await make(snapshot, engine.alterColumns([{ path: 't', type: largeUtf8() }]))
  expect(snapshot.schema.fields[0]!.type.typeId).toBe(largeUtf8().typeId)
  snapshot = await make(snapshot, engine.alterColumns([{ path: 't', type: utf8() }]))
  expect(await rowsOf(snapshot)).toEqual([{ t: 'a' }, { t: null }, { t: 'bc' }])
})

import { tableFromArrays, tableFromIPC, tableToIPC } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { tablesOf } from '../../support/inspect.ts'
import { fails, refuses } from '../../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']
const versionsOf = async (catalog: Catalog, branch?: string) =>
  (await catalog.listTableVersions({ id, branch })).versions.map(({ version }) => version)

eachCatalog((open) => {
  describe('createTable', () => {
    it('answers with location, version 1, properties and the transaction', async () => {
      const catalog = await open()
      const answer = await catalog.createTable({ id, data: numbered(3), properties: { a: '1' } })
      expect(answer).toEqual({
        location: expect.stringMatching(/\/tables\/\w+$/),
        version: 1,
        properties: { a: '1' },
        transaction_id: expect.any(String),
      })
      expect(await rowsOf(catalog, id)).toEqual(numbered(3))
      expect(await versionsOf(catalog)).toEqual([1])
      expect(await catalog.listTables({ id: [], include_declared: false })).toEqual({ tables: ['t'] })
    })

    it('takes an Arrow stream, an Arrow file, their buffers, and an Arrow table alike', async () => {
      const catalog = await open()
      const table = tableFromArrays({ n: [1, 2, 3], s: ['a', null, 'c'] })
      const stream = tableToIPC(table, { format: 'stream' })!
      const file = tableToIPC(table, { format: 'file' })!
      const buffer = stream.buffer.slice(
        stream.byteOffset,
        stream.byteOffset + stream.byteLength,
      ) as ArrayBuffer
      for (const [name, data] of Object.entries({ stream, file, buffer, table })) {
        await catalog.createTable({ id: [name], data })
        expect(await rowsOf(catalog, [name])).toEqual(table.toArray())
      }
    })

    it('takes no rows at all when the columns are known', async () => {
      const catalog = await open()
      const schema = { fields: [{ name: 'n', nullable: true, type: { type: 'int64' } }] }
      await catalog.createTable({ id, data: [], schema })
      expect(await countOf(catalog, id)).toBe(0)
      await catalog.insertIntoTable({ id, data: [{ n: 7 }] })
      expect(await countOf(catalog, id)).toBe(1)
    })

    it('mode Create, the default, refuses a taken name, be it of a namespace', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(1) })
      await catalog.createNamespace({ id: ['n'] })
      for (const mode of [undefined, null, 'Create', 'create'] as const) {
        await refuses(
          catalog,
          () => catalog.createTable({ id, data: numbered(9), mode }),
          'TableAlreadyExists',
          'table t already exists',
          'another name',
        )
      }
      for (const mode of ['Create', 'ExistOk', 'Overwrite'] as const) {
        await refuses(
          catalog,
          () => catalog.createTable({ id: ['n'], data: numbered(9), mode }),
          'TableAlreadyExists',
          'namespace n already exists',
        )
      }
      expect(await countOf(catalog, id)).toBe(1)
    })

    it('mode ExistOk leaves an existing table as it is', async () => {
      const catalog = await open()
      const first = await catalog.createTable({
        id,
        data: numbered(2),
        mode: 'ExistOk',
        properties: { a: '1' },
      })
      await catalog.insertIntoTable({ id, data: numbered(1) })
      expect(
        await catalog.createTable({ id, data: numbered(9), mode: 'exist_ok', properties: { b: '2' } }),
      ).toEqual({
        location: first.location,
        version: 2,
        properties: { a: '1' },
      })
      expect(await countOf(catalog, id)).toBe(3)
    })

    it('mode Overwrite drops the existing table, history and tags too, and creates it anew', async () => {
      const catalog = await open()
      const first = await catalog.createTable({ id, data: numbered(2), properties: { a: '1' } })
      await catalog.createTableTag({ id, tag: 'x', version: 1 })
      await catalog.insertIntoTable({ id, data: numbered(2) })
      const answer = await catalog.createTable({ id, data: [{ other: 'column' }], mode: 'Overwrite' })
      expect(answer).toMatchObject({ version: 1, properties: {} })
      expect(answer.location).not.toBe(first.location)
      expect(await rowsOf(catalog, id)).toEqual([{ other: 'column' }])
      expect(await versionsOf(catalog)).toEqual([1])
      expect(await catalog.listTableTags({ id })).toEqual({ tags: {} })
    })

    it('a declared table is created where it was declared, its properties kept', async () => {
      const catalog = await open()
      for (const mode of ['Create', 'ExistOk', 'Overwrite'] as const) {
        const declared = await catalog.declareTable({ id: [mode], properties: { a: '1' } })
        await refuses(
          catalog,
          () => catalog.createTable({ id: [mode], data: numbered(2), properties: { b: '2' }, mode }),
          'InvalidInput',
          mode,
          'leave properties out',
        )
        expect(await catalog.createTable({ id: [mode], data: numbered(2), mode })).toEqual({
          location: declared.location,
          version: 1,
          properties: { a: '1' },
          transaction_id: expect.any(String),
        })
        expect(await countOf(catalog, [mode])).toBe(2)
      }
    })

    it('of many who create one table at once exactly one does, whether it was declared before or not', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['declared'] })
      for (const name of ['declared', 'new']) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 8 }, (_, i) => catalog.createTable({ id: [name], data: numbered(i + 1) })),
        )
        const won = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [i] : []))
        expect(won).toHaveLength(1)
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected')
            expect(outcome.reason).toMatchObject({ code: 'TableAlreadyExists' })
        }
        expect(await countOf(catalog, [name])).toBe(won[0]! + 1)
        expect((await catalog.listTableVersions({ id: [name] })).versions).toHaveLength(1)
      }
    })

    it('needs its namespace', async () => {
      const catalog = await open()
      await refuses(
        catalog,
        () => catalog.createTable({ id: ['x', 't'], data: numbered(1) }),
        'NamespaceNotFound',
        'x',
        'Create it first',
      )
    })
  })

  describe('insertIntoTable', () => {
    it('appends by default, and answers with the version and how many rows went in', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      expect(await catalog.insertIntoTable({ id, data: numbered(2, 3) })).toEqual({
        version: 2,
        num_inserted_rows: 2,
        transaction_id: expect.any(String),
      })
      expect(await rowsOf(catalog, id)).toEqual(numbered(5))
      expect(await countOf(catalog, id, { version: 1 })).toBe(3)
    })

    it('matches columns by name, whatever their order', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ a: 1, b: 'x' }] })
      await catalog.insertIntoTable({ id, data: [{ b: 'y', a: 2 }] })
      expect(await rowsOf(catalog, id)).toEqual([
        { a: 1, b: 'x' },
        { a: 2, b: 'y' },
      ])
    })

    it('mode Overwrite replaces rows and columns, earlier versions stay', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      expect(await catalog.insertIntoTable({ id, data: [{ other: 'x' }], mode: 'Overwrite' })).toMatchObject({
        version: 2,
        num_inserted_rows: 1,
      })
      expect(await rowsOf(catalog, id)).toEqual([{ other: 'x' }])
      expect(await rowsOf(catalog, id, { version: 1 })).toEqual(numbered(3))
    })

    it('creates a declared table, whatever the mode', async () => {
      const catalog = await open()
      for (const mode of ['append', 'overwrite'] as const) {
        await catalog.declareTable({ id: [mode] })
        expect(await catalog.insertIntoTable({ id: [mode], data: numbered(2), mode })).toMatchObject({
          version: 1,
          num_inserted_rows: 2,
        })
        expect(await catalog.describeTable({ id: [mode], check_declared: true })).toMatchObject({
          is_only_declared: false,
        })
      }
    })

    it('refuses rows whose columns are others, and names the difference', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ a: 1, b: 'x' }] })
      for (const [row, column] of [
        [{ a: 1, c: 'x' }, 'c'],
        [{ a: 'text', b: 'x' }, 'a'],
        [{ a: 1, b: 'x', c: 1 }, 'c'],
      ] as const) {
        await refuses(
          catalog,
          () => catalog.insertIntoTable({ id, data: [row] }),
          'TableSchemaValidationError',
          column,
        )
      }
      expect(await countOf(catalog, id)).toBe(1)
    })

    it('into a branch leaves the main branch alone, and the other way round', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      await catalog.createTableBranch({ id, name: 'dev' })
      expect(await catalog.insertIntoTable({ id, branch: 'dev', data: numbered(1, 2) })).toMatchObject({
        version: 2,
      })
      await catalog.insertIntoTable({ id, data: numbered(5, 10) })
      expect(await countOf(catalog, id)).toBe(7)
      expect(await countOf(catalog, id, { branch: 'dev' })).toBe(3)
      expect(await countOf(catalog, id, { branch: 'dev', version: 1 })).toBe(2)
      expect(await rowsOf(catalog, id, { branch: 'dev' })).toEqual(numbered(3))
      expect(await versionsOf(catalog, 'dev')).toEqual([1, 2])
    })

    it('at once from many all succeed, each in a version of its own', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(1) })
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => catalog.insertIntoTable({ id, data: numbered(1, i + 1) })),
      )
      expect(answers.map(({ version }) => version).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, i) => i + 2),
      )
      const seen = (await rowsOf(catalog, id)).map(({ n }) => Number(n)).sort((a, b) => a - b)
      expect(seen).toEqual(Array.from({ length: 21 }, (_, i) => i))
    })
  })

  describe('deleteFromTable', () => {
    it('deletes the rows a predicate holds for, and answers with the commit version (4.1)', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(10) })
      expect(await catalog.deleteFromTable({ id, predicate: 'n >= 3 AND odd' })).toEqual({
        version: 2,
        num_deleted_rows: 4,
        transaction_id: expect.any(String),
      })
      expect((await rowsOf(catalog, id)).map(({ n }) => n)).toEqual([0, 1, 2, 4, 6, 8])
      expect(await countOf(catalog, id)).toBe(6)
      expect(await countOf(catalog, id, { version: 1 })).toBe(10)
    })

    it('that matches nothing makes a version all the same', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      expect(await catalog.deleteFromTable({ id, predicate: 'n < 0' })).toMatchObject({
        version: 2,
        num_deleted_rows: 0,
      })
      expect(await catalog.deleteFromTable({ id, predicate: 'false' })).toMatchObject({ version: 3 })
      expect(await countOf(catalog, id)).toBe(2)
      expect(await versionsOf(catalog)).toEqual([1, 2, 3])
    })

    it('may delete all, and rows can be inserted again', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(4) })
      await catalog.deleteFromTable({ id, predicate: 'true' })
      expect(await countOf(catalog, id)).toBe(0)
      expect(await rowsOf(catalog, id)).toEqual([])
      await catalog.insertIntoTable({ id, data: numbered(1) })
      expect(await rowsOf(catalog, id)).toEqual(numbered(1))
    })

    it('finds nested fields by dots, and names with dots or backticks in backticks, doubled inside (4.1)', async () => {
      const catalog = await open()
      await catalog.createTable({
        id,
        data: [
          { place: { city: 'Rome' }, 'a.b': 1, 'tick`': 'x' },
          { place: { city: 'Pisa' }, 'a.b': 2, 'tick`': 'y' },
          { place: { city: 'Bari' }, 'a.b': 3, 'tick`': 'z' },
        ],
      })
      expect(await countOf(catalog, id, { predicate: "place.city = 'Rome'" })).toBe(1)
      expect(await countOf(catalog, id, { predicate: '`a.b` >= 2' })).toBe(2)
      await catalog.deleteFromTable({ id, predicate: "`tick``` = 'z'" })
      await catalog.deleteFromTable({ id, predicate: "place.`city` = 'Pisa'" })
      expect((await rowsOf(catalog, id)).map((row) => row['a.b'])).toEqual([1])
    })

    it('on a branch leaves the main branch alone (4.1)', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(4) })
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.deleteFromTable({ id, branch: 'dev', predicate: 'n < 3' })
      expect([await countOf(catalog, id), await countOf(catalog, id, { branch: 'dev' })]).toEqual([4, 1])
      await catalog.deleteFromTable({ id, branch: 'main', predicate: 'n = 3' })
      expect([await countOf(catalog, id), await countOf(catalog, id, { branch: 'dev' })]).toEqual([3, 1])
    })

    it('and inserts at once rebase on each other', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(100) })
      await Promise.all([
        ...Array.from({ length: 10 }, (_, i) => catalog.deleteFromTable({ id, predicate: `n = ${i * 10}` })),
        ...Array.from({ length: 10 }, (_, i) =>
          catalog.insertIntoTable({ id, data: numbered(1, 1_000 + i) }),
        ),
        catalog.updateTableSchemaMetadata({ id, metadata: { a: '1' } }),
      ])
      expect(await countOf(catalog, id)).toBe(100)
      expect(await countOf(catalog, id, { predicate: 'n % 10 = 0 AND n < 100' })).toBe(0)
      expect(await countOf(catalog, id, { predicate: 'n >= 1000' })).toBe(10)
      expect(await versionsOf(catalog)).toHaveLength(22)
    })
  })

  describe('countTableRows', () => {
    it('counts all rows, or those a predicate holds for, at a version and on a branch (4.4)', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(10) })
      await catalog.insertIntoTable({ id, data: numbered(10, 10) })
      await catalog.createTableBranch({ id, name: 'dev', from_version: 1 })
      expect(await catalog.countTableRows({ id })).toEqual({ count: 20 })
      expect(await catalog.countTableRows({ id, predicate: null, version: null, branch: null })).toEqual({
        count: 20,
      })
      expect(await catalog.countTableRows({ id, version: 1 })).toEqual({ count: 10 })
      expect(await catalog.countTableRows({ id, predicate: 'odd' })).toEqual({ count: 10 })
      expect(await catalog.countTableRows({ id, predicate: 'odd', version: 1 })).toEqual({ count: 5 })
      expect(await catalog.countTableRows({ id, branch: 'dev', predicate: "name LIKE 'row 1%'" })).toEqual({
        count: 1,
      })
    })

    it('of a NULL a predicate says neither yes nor no', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ n: 1 }, { n: null }, { n: 3 }] })
      expect(await countOf(catalog, id, { predicate: 'n = 1 OR NOT n = 1' })).toBe(2)
      expect(await countOf(catalog, id, { predicate: 'n IS NULL' })).toBe(1)
    })
  })

  describe('queryTable', () => {
    it('answers with an Arrow file of all rows, in the order they were inserted', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      await catalog.insertIntoTable({ id, data: numbered(2, 3) })
      const { data, ...rest } = await catalog.queryTable({ id })
      expect(rest).toEqual({})
      expect(new TextDecoder().decode(data.subarray(0, 6))).toBe('ARROW1')
      expect(tableFromIPC(data).toArray()).toEqual(numbered(5))
    })

    it('picks and renames columns, nested ones by their path', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ a: 1, b: 'x', place: { city: 'Rome' } }] })
      expect(await rowsOf(catalog, id, { columns: ['b', 'a'] })).toEqual([{ b: 'x', a: 1 }])
      expect(await rowsOf(catalog, id, { columns: { column_names: ['a'] } })).toEqual([{ a: 1 }])
      expect(
        await rowsOf(catalog, id, { columns: { column_aliases: { town: 'place.city', one: 'a' } } }),
      ).toEqual([{ town: 'Rome', one: 1 }])
      const column_aliases = JSON.parse(
        '{"__proto__":"a","constructor":"b","prototype":"place.city","c":"a"}',
      )
      const renamed = tableFromIPC((await catalog.queryTable({ id, columns: { column_aliases } })).data)
      expect(renamed.names.toSorted()).toEqual(['__proto__', 'c', 'constructor', 'prototype'])
      await fails(
        catalog.queryTable({ id, columns: { column_aliases: JSON.parse('{"__proto__":1}') } }),
        'InvalidInput',
        '__proto__',
      )
      await fails(catalog.queryTable({ id, columns: ['none'] }), 'TableColumnNotFound', 'none')
      const refused = ['_rowaddr', 'is not supported']
      await fails(catalog.queryTable({ id, columns: ['_rowaddr'] }), 'Unsupported', ...refused)
      await fails(catalog.queryTable({ id, filter: '_rowaddr > 1' }), 'InvalidInput', ...refused)
      await fails(catalog.countTableRows({ id, predicate: '_rowaddr > 1' }), 'InvalidInput', ...refused)
      await catalog.createTable({ id: ['own'], data: [{ _rowid: 7 }] })
      expect(await rowsOf(catalog, ['own'], { columns: ['_rowid'], filter: '_rowid = 7' })).toEqual([
        { _rowid: 7 },
      ])
      await fails(
        catalog.queryTable({ id, columns: [] }),
        'InvalidInput',
        'columns must name at least one column',
      )
      await fails(
        catalog.queryTable({ id, columns: { column_names: ['a'], column_aliases: { b: 'b' } } }),
        'InvalidInput',
        'column_names and column_aliases',
        'one of them',
      )
    })

    it('filters, skips and cuts, also as the protocol’s k', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(10) })
      const ns = async (request: object) => (await rowsOf(catalog, id, request)).map(({ n }) => n)
      expect(await ns({ filter: 'odd' })).toEqual([1, 3, 5, 7, 9])
      expect(await ns({ limit: 3 })).toEqual([0, 1, 2])
      expect(await ns({ k: 2 })).toEqual([0, 1])
      expect(await ns({ offset: 8 })).toEqual([8, 9])
      expect(await ns({ filter: 'odd', offset: 1, limit: 2 })).toEqual([3, 5])
      expect(await ns({ limit: 0 })).toEqual([])
      expect(await ns({ offset: 99 })).toEqual([])
      expect(await ns({ k: 2 ** 64 })).toHaveLength(10)
      for (const request of [{ limit: -1 }, { k: 1.5 }, { offset: '1' }]) {
        await fails(catalog.queryTable({ id, ...request } as never), 'InvalidInput', 'whole number from 0')
      }
    })

    it('reads an earlier version, and a branch', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.insertIntoTable({ id, data: numbered(1, 2), branch: 'dev' })
      await catalog.deleteFromTable({ id, predicate: 'n = 0' })
      expect(await rowsOf(catalog, id, { version: 1 })).toEqual(numbered(2))
      expect(await rowsOf(catalog, id)).toEqual(numbered(1, 1))
      expect(await rowsOf(catalog, id, { branch: 'dev' })).toEqual(numbered(3))
    })

    it('refuses searches it does not have, an empty vector being none', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      for (const [search, name] of [
        [{ full_text_query: { string_query: { query: 'x' } } }, 'Full-text search'],
      ] as const) {
        await fails(catalog.queryTable({ id, ...search }), 'Unsupported', name, "format: 'lance'")
      }
      expect(await rowsOf(catalog, id, { vector: [], with_row_id: false })).toHaveLength(2)
      expect(await rowsOf(catalog, id, { vector: { single_vector: [], multi_vector: [] } })).toHaveLength(2)
    })
  })

  describe('updateTableSchemaMetadata', () => {
    it('replaces the metadata as a whole, in a new version, and answers with it (4.3)', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      expect(await catalog.updateTableSchemaMetadata({ id, metadata: { a: '1', b: '2' } })).toEqual({
        metadata: { a: '1', b: '2' },
        transaction_id: expect.any(String),
      })
      const metadata = JSON.parse('{"c":"3","__proto__":"p","":"empty"}')
      const answer = await catalog.updateTableSchemaMetadata({ id, metadata })
      expect(Object.entries(answer.metadata).sort()).toEqual(Object.entries(metadata).sort())
      const described = await catalog.describeTable({ id, load_detailed_metadata: true })
      expect(described.version).toBe(3)
      expect(Object.entries(described.metadata!).sort()).toEqual(Object.entries(metadata).sort())
      expect(await catalog.describeTable({ id, version: 2, load_detailed_metadata: true })).toMatchObject({
        metadata: { a: '1', b: '2' },
      })
      expect(await catalog.updateTableSchemaMetadata({ id, metadata: {} })).toMatchObject({ metadata: {} })
      expect(await countOf(catalog, id)).toBe(2)
    })

    it('on a branch leaves the main branch alone (4.3)', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.updateTableSchemaMetadata({ id, branch: 'dev', metadata: { a: '1' } })
      expect(await catalog.describeTable({ id, branch: 'dev', load_detailed_metadata: true })).toMatchObject({
        version: 2,
        metadata: { a: '1' },
      })
      expect(await catalog.describeTable({ id, load_detailed_metadata: true })).toMatchObject({
        version: 1,
        metadata: {},
      })
    })
  })

  describe('restoreTable', () => {
    it('makes a new version like an old one, rows, columns and metadata; those between stay', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      await catalog.updateTableSchemaMetadata({ id, metadata: { a: '1' } })
      await catalog.deleteFromTable({ id, predicate: 'n > 0' })
      await catalog.insertIntoTable({ id, data: [{ other: 1 }], mode: 'Overwrite' })
      expect(await catalog.restoreTable({ id, version: 2 })).toEqual({ transaction_id: expect.any(String) })
      expect(await rowsOf(catalog, id)).toEqual(numbered(3))
      expect(await catalog.describeTable({ id, load_detailed_metadata: true })).toMatchObject({
        version: 5,
        metadata: { a: '1' },
      })
      expect(await countOf(catalog, id, { version: 3 })).toBe(1)
      await catalog.deleteFromTable({ id, predicate: 'n = 1' })
      expect(await countOf(catalog, id)).toBe(2)
      expect(await countOf(catalog, id, { version: 2 })).toBe(3)
    })

    it('works on a branch, with the branch’s own versions', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.deleteFromTable({ id, branch: 'dev', predicate: 'true' })
      await catalog.restoreTable({ id, branch: 'dev', version: 1 })
      expect(await countOf(catalog, id, { branch: 'dev' })).toBe(3)
      expect(await versionsOf(catalog)).toEqual([1])
    })
  })

  describe('describeTable', () => {
    it('in detail tells version, schema, statistics and schema metadata', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      const { location } = await catalog.createTable({
        id: ['n', 't'],
        data: [
          { a: 1, b: 'x' },
          { a: 2, b: null },
        ],
        properties: { p: '1' },
      })
      await catalog.deleteFromTable({ id: ['n', 't'], predicate: 'a = 1' })
      const { schema, ...rest } = await catalog.describeTable({
        id: ['n', 't'],
        load_detailed_metadata: true,
      })
      expect(rest).toEqual({
        location,
        properties: { p: '1' },
        table: 't',
        namespace: ['n'],
        version: 2,
        is_only_declared: false,
        metadata: {},
        stats: { num_deleted_rows: 1, num_fragments: 1 },
      })
      expect(schema!.fields.map(({ name, nullable }) => [name, nullable])).toEqual([
        ['a', true],
        ['b', true],
      ])
      expect(schema!.fields.map(({ type }) => type.type)).toEqual(['double', 'string'])
    })
  })

  it('a whole life: created, changed, renamed, moved, deregistered, registered, dropped', async () => {
    const catalog = await open()
    await catalog.createNamespace({ id: ['a'] })
    await catalog.createNamespace({ id: ['b'] })
    await catalog.createTable({ id: ['a', 't'], data: numbered(10) })
    await catalog.deleteFromTable({ id: ['a', 't'], predicate: 'odd' })
    await catalog.renameTable({ id: ['a', 't'], new_table_name: 'u', new_namespace_id: ['b'] })
    expect(await countOf(catalog, ['b', 'u'])).toBe(5)
    await catalog.insertIntoTable({ id: ['b', 'u'], data: numbered(1, 100) })
    const { location } = await catalog.deregisterTable({ id: ['b', 'u'] })
    await fails(catalog.countTableRows({ id: ['b', 'u'] }), 'TableNotFound', 'b$u')
    await catalog.registerTable({ id: ['v'], location })
    expect(await countOf(catalog, ['v'])).toBe(6)
    await catalog.dropTable({ id: ['v'] })
    expect(await tablesOf(catalog)).toEqual([])
  })
})

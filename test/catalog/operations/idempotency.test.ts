import { describe, expect, it, onTestFinished } from 'vitest'
import { answersFormat, type CatalogRecord, catalogFormat, keys } from '../../../src/base/store/records.ts'
import type { Key, Value } from '../../../src/base/store/store.ts'
import { principalKey } from '../../../src/catalog/index.ts'
import { answerAge } from '../../../src/catalog/transactions/answers.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import {
  type CatalogOptions,
  type LocalCatalog,
  type OperationName,
  openCatalog,
} from '../../../src/tabularium/index.ts'
import { eachCatalog, eachLocalCatalog } from '../../support/catalogs.ts'
import { fails, refuses } from '../../support/refusals.ts'

const table = { id: ['t'] }
const data = [{ a: 1 }]

/** Calls of each kind of change, in an order in which all succeed, with what they need before. */
const changes: readonly (readonly [name: OperationName, request: object])[] = [
  ['createNamespace', { id: ['n'], properties: { owner: 'ada' } }],
  ['createNamespace', { id: ['n'], mode: 'ExistOk' }],
  ['updateNamespaceProperties', { id: ['n'], updates: { owner: 'eve' } }],
  ['createTable', { ...table, data }],
  ['updateTableProperties', { ...table, updates: { owner: 'eve' } }],
  ['insertIntoTable', { ...table, data }],
  ['deleteFromTable', { ...table, predicate: 'a > 5' }],
  ['updateTable', { ...table, updates: [['a', 'a + 1']] }],
  ['mergeInsertIntoTable', { ...table, on: 'a', data: [{ a: 9 }], when_not_matched_insert_all: true }],
  ['updateTableSchemaMetadata', { ...table, metadata: { unit: 'm' } }],
  ['alterTableAddColumns', { ...table, new_columns: [{ name: 'b', expression: 'a * 2' }] }],
  ['alterTableAlterColumns', { ...table, alterations: [{ path: 'b', rename: 'c' }] }],
  ['updateFieldMetadata', { ...table, updates: [{ path: 'a', metadata: { unit: 'm' } }] }],
  ['alterTableDropColumns', { ...table, columns: ['c'] }],
  ['createTableScalarIndex', { ...table, column: 'a', index_type: 'BTREE' }],
  ['dropTableIndex', { ...table, index_name: 'a_idx' }],
  ['optimizeTable', table],
  ['createTableTag', { ...table, tag: 'x', version: 1 }],
  ['updateTableTag', { ...table, tag: 'x', version: 2 }],
  ['deleteTableTag', { ...table, tag: 'x' }],
  ['createTableBranch', { ...table, name: 'dev' }],
  ['deleteTableBranch', { ...table, name: 'dev' }],
  ['restoreTable', { ...table, version: 1 }],
  ['cloneTable', { id: ['c'], source: ['t'] }],
  ['renameTable', { id: ['c'], new_table_name: 'd' }],
  ['dropTable', { id: ['d'] }],
  ['declareTable', { id: ['v'], location: 's3://bucket/v' }],
  ['createTableVersion', { id: ['v'], version: 1, manifest_path: 'm1' }],
  ['batchCreateTableVersions', { entries: [{ id: ['v'], version: 2, manifest_path: 'm2' }] }],
  ['batchDeleteTableVersions', { id: ['v'], ranges: [{ start_version: 1, end_version: 1 }] }],
  [
    'batchCommitTables',
    { operations: [{ declare_table: { id: ['w'] } }, { deregister_table: { id: ['v'] } }] },
  ],
  ['registerTable', { id: ['v'], location: 's3://bucket/v' }],
  ['deregisterTable', { id: ['v'] }],
  ['dropNamespace', { id: ['n'], behavior: 'Cascade' }],
]

type Call = (request: object, options?: object) => Promise<Record<string, unknown>>
const call = (catalog: object, name: string, request: object, options?: object) =>
  (catalog as Record<string, Call>)[name]!(request, options)

const count = async (catalog: LocalCatalog) => (await catalog.countTableRows({ id: ['t'] })).count

eachCatalog((open) => {
  const begun = async (options?: CatalogOptions) => {
    const catalog = await open(options)
    await catalog.createTable({ ...table, data })
    return catalog
  }

  describe('a change with an idempotency key', () => {
    it('is made once, whichever it is, and answers the same', async () => {
      const catalog = await open()
      for (const [at, [name, request]] of changes.entries()) {
        const options = { idempotencyKey: `key ${at}` }
        const first = await call(catalog, name, request, options)
        const before = await catalog.listTransactions({})
        expect(await call(catalog, name, request, options), name).toEqual(first)
        expect(await catalog.listTransactions({}), name).toEqual(before)
      }
    })

    it('is the same in another order of fields, and with another context', async () => {
      const catalog = await begun()
      const options = { idempotencyKey: 'k' }
      const first = await catalog.declareTable({ id: ['u'], properties: { a: '1', b: '2' } }, options)
      const again = { properties: { b: '2', a: '1' }, id: ['u'], location: null, context: { try: '2' } }
      expect(await catalog.declareTable(again, options)).toEqual(first)
    })

    it('refuses another request, be it of another operation', async () => {
      const catalog = await begun()
      const options = { idempotencyKey: 'k' }
      await catalog.insertIntoTable({ ...table, data }, options)
      for (const [name, request] of [
        ['insertIntoTable', { ...table, data: [{ a: 2 }] }],
        ['insertIntoTable', { ...table, data, mode: 'Overwrite' }],
        ['dropTable', table],
      ] as const)
        await refuses(
          catalog,
          () => call(catalog, name, request, options),
          'InvalidInput',
          '"k"',
          'of its own',
        )
      expect(await count(catalog)).toBe(2)
    })

    it('keeps no answer when it is refused', async () => {
      const catalog = await begun()
      const options = { idempotencyKey: 'k' }
      await fails(
        catalog.createTableTag({ ...table, tag: 'x', version: 9 }, options),
        'TableVersionNotFound',
        '9',
      )
      await catalog.createTableTag({ ...table, tag: 'x', version: 1 }, options)
      await catalog.deleteTableTag({ ...table, tag: 'x' })
      await catalog.createTableTag({ ...table, tag: 'x', version: 1 }, options)
      expect((await catalog.listTableTags(table)).tags).toEqual({})
    })

    it('is made once by many at the same time, beside others', async () => {
      const catalog = await begun()
      const keyed = Array.from({ length: 8 }, (_, i) =>
        catalog.insertIntoTable({ ...table, data }, { idempotencyKey: `k${i % 2}` }),
      )
      const others = Array.from({ length: 4 }, () => catalog.insertIntoTable({ ...table, data }))
      const answers = await Promise.all(keyed)
      await Promise.all(others)
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(2)
      expect(await count(catalog)).toBe(7)
      // What they were told is so: no version moved when others were first.
      const { versions } = await catalog.listTableVersions({ ...table, with_transactions: true })
      for (const { version, transaction_id } of answers)
        expect(versions.find((one) => one.version === version)).toMatchObject({ transaction_id })
    })

    it('is part of a transaction, which keeps the answer when it is committed', async () => {
      const catalog = await begun()
      const options = { idempotencyKey: 'k' }
      // Over HTTP, each answer has headers of its own.
      const insert = async (tx: Pick<LocalCatalog, 'insertIntoTable'>) => {
        const { context: _, ...answer } = await tx.insertIntoTable({ ...table, data }, options)
        return answer
      }
      const failed = catalog.transaction(async (tx) => {
        expect(await insert(tx)).toEqual(await insert(tx))
        expect(await tx.countTableRows(table)).toMatchObject({ count: 2 })
        throw new Error('enough')
      })
      await expect(failed).rejects.toThrow('enough')
      const first = await catalog.transaction(insert)
      expect(await insert(catalog)).toEqual(first)
      expect(await catalog.transaction(insert)).toEqual(first)
      expect(await count(catalog)).toBe(2)
    })

    it('takes no other keys, and reads take any', async () => {
      const catalog = await begun()
      for (const idempotencyKey of ['', 'x'.repeat(257), 7, null] as string[]) {
        const insert = () => catalog.insertIntoTable({ ...table, data }, { idempotencyKey })
        await refuses(catalog, insert, 'InvalidInput', 'idempotency key', '1 to 256')
        await catalog.describeTable(table, { idempotencyKey })
      }
      await catalog.insertIntoTable({ ...table, data }, { idempotencyKey: 'x'.repeat(256) })
      const source = () =>
        catalog.insertIntoTable(
          {
            ...table,
            data: (async function* () {
              yield data
            })(),
          },
          { idempotencyKey: 'source' },
        )
      await refuses(catalog, source, 'InvalidInput', 'leave the key out')
    })

    it('says that an answer was too long to keep', async () => {
      const catalog = await open()
      const operations = Array.from({ length: 600 }, (_, i) => ({ declare_table: { id: [`t${i}`] } }))
      const batch = () => catalog.batchCommitTables({ operations }, { idempotencyKey: 'k' })
      const { transaction_id } = await batch()
      await fails(batch(), 'Unsupported', 'was made before', 'too long to keep')
      expect(transaction_id).toEqual(expect.any(String))
      expect((await catalog.listAllTables({})).tables).toHaveLength(600)
    })

    it('answers for a day', async () => {
      let now = Date.UTC(2026, 0, 1)
      const catalog = await begun({ now: () => now })
      const insert = () => catalog.insertIntoTable({ ...table, data }, { idempotencyKey: 'k' })
      const first = await insert()
      now += answerAge - 1
      expect(await insert()).toEqual(first)
      now += 1
      expect(await insert()).not.toEqual(first)
      expect(await count(catalog)).toBe(3)
    })
  })
})

eachLocalCatalog((open) => {
  it('keys belong to their callers, and hooks are asked before an answer that is kept', async () => {
    let allows = true
    const catalog = await open({ authorize: () => allows })
    await catalog.createTable({ ...table, data })
    const insert = (principal: string) =>
      catalog.insertIntoTable(
        { ...table, data, context: { [principalKey]: principal } },
        { idempotencyKey: 'k' },
      )
    const first = await insert('ada')
    expect(await insert('eve')).not.toEqual(first)
    expect(await insert('ada')).toEqual(first)
    allows = false
    await fails(insert('ada'), 'PermissionDenied')
  })
})

describe('answers in the store', () => {
  const opened = async (options: CatalogOptions = {}) => {
    const store = memoryStore()
    const catalog = await openCatalog({ store, content: memoryContent(), ...options })
    onTestFinished(() => catalog.close())
    const entries = (prefix: Key) =>
      store.read((reader) => Array.from(reader.range<Value>({ prefix }), ({ value }) => value))
    return { catalog, store, kept: () => entries(['a', 'k']), times: () => entries(keys.answerTimes) }
  }

  it('have no credentials', async () => {
    const { catalog, kept } = await opened({
      storageOptions: () => ({ secret: 'sesame' }),
    })
    const request = {
      id: ['t'],
      location: 's3://bucket/t',
      vend_credentials: true,
      properties: { secret: 'x' },
    }
    const declare = () => catalog.declareTable(request, { idempotencyKey: 'k' })
    const { storage_options, ...first } = await declare()
    expect(storage_options).toMatchObject({ secret: 'sesame' })
    expect(await declare()).toEqual(first)
    expect(JSON.stringify(await kept())).not.toContain('sesame')
  })

  it('give the catalog a format that older releases refuse, and only they', async () => {
    const { catalog, store } = await opened()
    const format = () => store.read((reader) => reader.get<CatalogRecord>(keys.catalog)!.v)
    // A catalog of an earlier release.
    await store.write((writer) => {
      const record = writer.get<CatalogRecord>(keys.catalog)!
      writer.put(keys.catalog, { ...record, v: catalogFormat })
    })
    await catalog.createNamespace({ id: ['m'] })
    expect(await format()).toBeLessThan(answersFormat)
    await catalog.createNamespace({ id: ['n'] }, { idempotencyKey: 'k' })
    expect(await format()).toBe(answersFormat)
  })

  it('are removed after a day, and when there are too many', async () => {
    let now = Date.UTC(2026, 0, 1)
    const { catalog, kept, times } = await opened({ now: () => now, transactionCount: 100 })
    const make = async (from: number, count: number) => {
      for (let i = from; i < from + count; i++)
        await catalog.createNamespace({ id: [`n${i}`] }, { idempotencyKey: `k${i}` })
    }
    await make(0, 300)
    await expect.poll(async () => (await kept()).length).toBeLessThan(150)
    expect((await kept()).length).toBe((await times()).length)
    // The key of the last one is taken anew, so that the old time must not remove it.
    now += answerAge
    await catalog.createNamespace({ id: ['other'] }, { idempotencyKey: 'k299' })
    for (let i = 0; i < 5; i++) await catalog.createNamespace({ id: [`m${i}`] })
    await expect.poll(kept).toHaveLength(1)
    expect(await times()).toHaveLength(1)
    await fails(catalog.createNamespace({ id: ['n0'] }, { idempotencyKey: 'k299' }), 'InvalidInput', 'k299')
  })
})

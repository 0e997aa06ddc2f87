import type * as v from 'valibot'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/handle/handle.ts'
import { type OperationName, operations } from '../../../src/catalog/operations/index.ts'
import { fakeCatalog } from '../../../src/testing/index.ts'
import { closedAfterwards, eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

type Call = (request: object) => Promise<unknown>
const call = (catalog: Catalog, name: OperationName, request: object) => (catalog[name] as Call)(request)

const id = ['t']
const data = [{ x: 1 }, { x: 2 }]

/** Requests with a field that their operation does not have, and what the refusal says. */
const misspelled: [OperationName, object, message: string][] = [
  [
    'countTableRows',
    { id, filter: 'x > 1' },
    'countTableRows has no field "filter". Did you mean predicate?',
  ],
  ['countTableRows', { id, where: 'x > 1' }, 'countTableRows has no field "where". Did you mean predicate?'],
  ['queryTable', { id, predicate: 'x > 1' }, 'queryTable has no field "predicate". Did you mean filter?'],
  ['queryTable', { id, Limit: 1 }, 'Did you mean limit?'],
  ['deleteFromTable', { id, where: 'x > 1' }, 'Did you mean predicate?'],
  [
    'insertIntoTable',
    { id, data, mod: 'Overwrite' },
    'insertIntoTable has no field "mod". Did you mean mode?',
  ],
  ['renameTable', { id, newTableName: 'u' }, 'Did you mean new_table_name?'],
  ['renameTable', { id, new_table_name: 'u', new_namespace: [] }, 'Did you mean new_namespace_id?'],
  ['listTables', { id: [], cursor: 'x' }, 'Did you mean page_token?'],
  ['updateTableProperties', { id, properties: { owner: 'a' } }, 'Did you mean updates?'],
  ['updateTable', { id, set: { a: 1 } }, 'Did you mean updates?'],
  ['tableExists', { id, entirely_else: 1 }, 'Its fields are identity, context, id, version'],
  [
    'queryTable',
    { id, columns: { column_name: ['x'] } },
    'queryTable: columns has no field "column_name". Did you mean column_names?',
  ],
  [
    'batchCommitTables',
    { operations: [{ declare_table: { id: ['a'] } }, { declare_table: { id: ['b'], proprties: {} } }] },
    'batchCommitTables: operations[1].declare_table has no field "proprties". Did you mean properties?',
  ],
  [
    'batchCreateTableVersions',
    { entries: [{ id, version: 2, manifest_path: 'm', etag: 'x' }] },
    'batchCreateTableVersions: entries[0] has no field "etag". Did you mean e_tag?',
  ],
  [
    'batchDeleteTableVersions',
    { id, ranges: [{ start_version: 1, end: 2 }] },
    'ranges[0] has no field "end"',
  ],
  [
    'alterTransaction',
    { id: ['x'], actions: [{ setStatusAction: { stauts: 'Canceled' } }] },
    'actions[0].setStatusAction has no field "stauts". Did you mean status?',
  ],
  ['tableExists', { id, identity: { token: 'x' } }, 'identity has no field "token"'],
]

eachCatalog((open) => {
  let catalog: Awaited<ReturnType<typeof open>>
  beforeEach(async () => {
    catalog = await open()
    await catalog.createTable({ id, data })
  })

  it.each(misspelled)('%s %j is refused', async (name, request, message) => {
    await fails(call(catalog, name, request), 'InvalidInput', message)
    expect((await catalog.countTableRows({ id })).count).toBe(2)
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['t'])
  })

  it('a field whose name joins those of two others is refused after a request with these two', async () => {
    const both = { branch: '', predicate: 'x > 1' }
    const joined = { 'branch,predicate': 'x > 1' }
    expect(await call(catalog, 'countTableRows', { id, ...both })).toMatchObject({ count: 1 })
    await fails(call(catalog, 'countTableRows', { id, ...joined }), 'InvalidInput', 'has no field "branch,')
    const updates = [['x', 'x + 10']]
    expect(await call(catalog, 'updateTable', { id, updates, ...both })).toMatchObject({ updated_rows: 1 })
    await fails(call(catalog, 'updateTable', { id, updates, ...joined }), 'InvalidInput', 'has no field')
    expect((await catalog.countTableRows({ id, predicate: 'x = 1' })).count).toBe(1)
  })

  it('a field that is undefined or null is absent', async () => {
    const absent = { filter: undefined, where: null }
    expect(await call(catalog, 'countTableRows', { id, ...absent })).toMatchObject({ count: 2 })
  })

  it('context and identity are free for the caller', async () => {
    const free = { context: { anything: 'x' }, identity: { api_key: 'k', auth_token: 'a' } }
    expect(await call(catalog, 'countTableRows', { id, ...free })).toMatchObject({ count: 2 })
  })

  it('what only a search by vectors needs may be there without a vector', async () => {
    const search = { vector: [], prefilter: true, nprobes: 20, distance_type: 'l2', lower_bound: 0.5, k: 1 }
    const answer = await call(catalog, 'queryTable', { id, ...search })
    expect(answer).toMatchObject({ data: expect.any(Uint8Array) })
    await fails(
      call(catalog, 'queryTable', { id, ...search, vector: [1, 2] }),
      'InvalidInput',
      'No vector column',
    )
  })
})

describe('every operation', () => {
  it.each(Object.values(operations).map(({ definition }) => [definition.name, definition] as const))(
    '%s refuses a field that it does not have, in the fake as well',
    async (name, definition) => {
      const fake = closedAfterwards(await fakeCatalog())
      const code = definition.errors.join() === 'Unsupported' ? 'Unsupported' : 'InvalidInput'
      const { message } = await fails(call(fake, name, { surplus: 1 }), code)
      if (code === 'InvalidInput') expect(message).toContain('has no field "surplus"')
    },
  )

  it.each(Object.values(operations).map(({ definition }) => [definition.name, definition] as const))(
    '%s refuses a list where it takes an object, at any depth',
    async (name, definition) => {
      if (definition.errors.join() === 'Unsupported') return
      const fake = closedAfterwards(await fakeCatalog())
      const paths = objectsWithin(definition.request as v.GenericSchema)
      expect(paths).toContainEqual(['identity'])
      for (const path of paths) {
        for (const list of [[], [null], [['x']]]) {
          const request = path.reduceRight<unknown>(
            (inner, key) => (key === 0 ? [inner] : { [key]: inner }),
            list,
          )
          const { message } = await fails(call(fake, name, request as object), 'InvalidInput')
          expect(message).toMatch(/must be an object|must be a|must have/)
        }
      }
    },
  )

  it('does not name a field that it has among those that it takes and ignores', () => {
    for (const { definition } of Object.values(operations)) {
      const { entries } = definition.request as unknown as v.ObjectSchema<v.ObjectEntries, undefined>
      const { ignores = [] } = definition as { ignores?: readonly string[] }
      expect(ignores.filter((name) => Object.hasOwn(entries, name))).toEqual([])
    }
  })
})

/** Where requests of a schema have objects, below themselves; 0 is the first item of a list. */
function objectsWithin(schema: v.GenericSchema, path: (string | 0)[] = []): (string | 0)[][] {
  const { entries, item, wrapped, pipe, type } = schema as v.GenericSchema & {
    entries?: Record<string, v.GenericSchema>
    item?: v.GenericSchema
    wrapped?: v.GenericSchema
    pipe?: readonly v.GenericSchema[]
  }
  const own = path.length > 0 && (entries !== undefined || type === 'record') ? [path] : []
  const below = Object.entries(entries ?? {}).flatMap(([name, entry]) =>
    objectsWithin(entry, [...path, name]),
  )
  const items = item === undefined ? [] : objectsWithin(item, [...path, 0])
  const inner = wrapped === undefined ? [] : objectsWithin(wrapped, path)
  const later = (pipe ?? []).slice(1).filter(({ kind }) => kind === 'schema')
  return [...own, ...below, ...items, ...inner, ...later.flatMap((step) => objectsWithin(step, path))]
}

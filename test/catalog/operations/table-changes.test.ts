import { tableFromIPC } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const id = ['t']

type Asked = Omit<Parameters<Catalog['tableChanges']>[0], 'id'>

const changes = async (catalog: Catalog, request: Asked) =>
  tableFromIPC((await catalog.tableChanges({ id, ...request })).data)

const rows = async (catalog: Catalog, request: Asked) =>
  (await changes(catalog, request)).toArray() as Record<string, unknown>[]

/** Version 1 has two rows, 2 adds one, 3 updates one, 4 deletes one. `b` adds one to 2, and `v2` is a tag on 2. */
async function seed(catalog: Catalog) {
  await catalog.createTable({
    id,
    data: [
      { k: 1, s: 'a' },
      { k: 2, s: 'b' },
    ],
  })
  await catalog.insertIntoTable({ id, data: [{ k: 3, s: 'c' }] })
  await catalog.createTableTag({ id, tag: 'v2', version: 2 })
  await catalog.createTableBranch({ id, name: 'b', from_version: 2 })
  await catalog.insertIntoTable({ id, branch: 'b', data: [{ k: 9, s: 'z' }] })
  await catalog.updateTable({ id, updates: [['s', "'new'"]], predicate: 'k = 2' })
  await catalog.deleteFromTable({ id, predicate: 'k = 1' })
}

describe('tableChanges', () => {
  eachCatalog((open) => {
    it('tells the rows that differ between two versions', async () => {
      const catalog = await open()
      await seed(catalog)
      expect(await rows(catalog, { from: 1 })).toEqual([
        { k: 1, s: 'a', _change_type: 'delete' },
        { k: 2, s: 'b', _change_type: 'delete' },
        { k: 3, s: 'c', _change_type: 'insert' },
        { k: 2, s: 'new', _change_type: 'insert' },
      ])
      expect(await rows(catalog, { from: 1, to: 'latest', on: 'k' })).toEqual([
        { k: 1, s: 'a', _change_type: 'delete' },
        { k: 2, s: 'b', _change_type: 'update_preimage' },
        { k: 3, s: 'c', _change_type: 'insert' },
        { k: 2, s: 'new', _change_type: 'update_postimage' },
      ])
      expect(await rows(catalog, { from: 4, to: 3 })).toEqual([{ k: 1, s: 'a', _change_type: 'insert' }])
      expect(await rows(catalog, { from: 4, to: 4 })).toEqual([])
      expect(await rows(catalog, { from: 1, on: ['k'], columns: ['k'], limit: 2, offset: 1 })).toEqual([
        { k: 3, _change_type: 'insert' },
      ])
      expect(await rows(catalog, { from: 3, with_row_id: true })).toEqual([
        { k: 1, s: 'a', _rowid: 0, _change_type: 'delete' },
      ])
    })

    it('takes versions by number, tag and branch, and says which they are', async () => {
      const catalog = await open()
      await seed(catalog)
      const names = async (request: Asked) => {
        const { schema } = await changes(catalog, request)
        return ['from', 'to'].map((which) => schema.metadata!.get(`tabularium.${which}`))
      }
      expect(await names({ from: 'v2' })).toEqual(['2', '4'])
      expect(await names({ from: '1', to: 'main' })).toEqual(['1', '4'])
      expect(await names({ from: 'latest', to: 'b' })).toEqual(['4', 'b@3'])
      expect(await names({ from: 'main@latest', to: 'b@2' })).toEqual(['4', 'b@2'])
      expect(await rows(catalog, { from: 'v2', to: 'b' })).toEqual([{ k: 9, s: 'z', _change_type: 'insert' }])
      expect(await rows(catalog, { from: 'b', to: 'main', on: 'k' })).toEqual([
        { k: 1, s: 'a', _change_type: 'delete' },
        { k: 2, s: 'b', _change_type: 'update_preimage' },
        { k: 9, s: 'z', _change_type: 'delete' },
        { k: 2, s: 'new', _change_type: 'update_postimage' },
      ])
      // Each version is as old as its record says.
      const { versions } = await catalog.listTableVersions({ id, branch: 'b' })
      const made = versions.find(({ version }) => version === 3)!.timestamp_millis
      expect((await names({ from: 1, to: `b@${new Date(made!).toISOString()}` }))[1]).toBe('b@3')
      await fails(changes(catalog, { from: '2001-01-01T00:00:00Z' }), 'TableVersionNotFound')
      // A tag comes first.
      await catalog.createTableTag({ id, tag: 'b', version: 1 })
      expect(await names({ from: 'b', to: 'b@latest' })).toEqual(['1', 'b@3'])
    })

    it('tells nothing of a table that was optimized, and new columns as they are read', async () => {
      const catalog = await open()
      await seed(catalog)
      await catalog.optimizeTable({ id, min_deleted_share: 0 })
      expect(await rows(catalog, { from: 4 })).toEqual([])
      await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'twice', expression: 'k * 2' }] })
      expect(await rows(catalog, { from: 5, on: 'k', limit: 1 })).toEqual([
        { k: 3, s: 'c', twice: null, _change_type: 'update_preimage' },
      ])
      await catalog.alterTableDropColumns({ id, columns: ['twice'] })
      expect(await rows(catalog, { from: 5 })).toEqual([])
      await catalog.restoreTable({ id, version: 1 })
      expect(await rows(catalog, { from: 1 })).toEqual([])
    })

    it('refuses what it cannot compare', async () => {
      const catalog = await open()
      await seed(catalog)
      const refused = (request: object, ...expected: [code: string, ...parts: (string | RegExp)[]]) =>
        fails(catalog.tableChanges({ id, ...request } as never), ...(expected as [never, ...string[]]))
      await refused({}, 'InvalidInput', 'from')
      await refused({ from: -1 }, 'InvalidInput', 'from must be a whole number')
      await refused({ from: '' }, 'InvalidInput', 'from')
      await refused({ from: '@1' }, 'InvalidInput', 'begins with @')
      await refused({ from: 'b@x' }, 'InvalidInput', 'b@x', 'dev@3')
      await refused({ from: '99999999999999999999' }, 'InvalidInput', 'names no version')
      await refused({ from: 9 }, 'TableVersionNotFound', 'no version 9')
      await refused({ from: 1, to: 0 }, 'TableVersionNotFound', 'no version 0')
      await refused({ from: 'none' }, 'TableTagNotFound', 'no tag or branch "none"')
      await refused({ from: 'none@1' }, 'TableBranchNotFound', '"none"')
      await refused({ from: 1, on: 's,none' }, 'TableColumnNotFound', '"none"', '"k", "s"')
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 2 }] })
      await refused({ from: 1 }, 'TableVersionNotFound', 'no version 1; its latest is 4')
    })
  })

  it('asks the hook authorize as for a query', async () => {
    const asked: string[] = []
    await using catalog = await openCatalog('memory:', {
      authorize: ({ operation }) => {
        asked.push(operation)
        return operation !== 'queryTable'
      },
    })
    await catalog.createTable({ id, data: [{ k: 1 }] })
    await fails(catalog.tableChanges({ id, from: 1 }), 'PermissionDenied', 'queryTable')
    expect(asked.slice(-2)).toEqual(['tableChanges', 'queryTable'])
  })
})

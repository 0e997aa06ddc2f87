import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import type { AuthorizeHook, Catalog, Store } from '../../../src/tabularium/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { overHttp } from '../../client/over-http.ts'
import { closedAfterwards, eachCatalog, eachLocalCatalog, freshFolder } from '../../support/catalogs.ts'
import { fails, refuses } from '../../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const source = ['source']
const id = ['clone']

/** A table of two fragments with deleted rows, an added column, a tag and a branch. */
async function withSource(catalog: Catalog): Promise<void> {
  await catalog.createTable({ id: source, data: numbered(6), properties: { owner: 'ops' } })
  await catalog.insertIntoTable({ id: source, data: numbered(4, 6) })
  await catalog.createTableTag({ id: source, tag: 'ten', version: 2 })
  await catalog.createTableBranch({ id: source, name: 'dev' })
  await catalog.insertIntoTable({ id: source, branch: 'dev', data: numbered(1, 100) })
  await catalog.deleteFromTable({ id: source, predicate: 'n = 2 OR n = 7' })
  await catalog.alterTableAddColumns({
    id: source,
    new_columns: [{ name: 'twice', expression: 'n * 2' }],
  })
  await catalog.updateTableSchemaMetadata({ id: source, metadata: { unit: 'm' } })
  await catalog.createTableIndex({ id: source, column: 'n', index_type: 'BTREE' })
}

const both = [{ is_shallow: true }, { is_shallow: false }]

eachCatalog((open) => {
  describe.each(both)('cloneTable with %o', (how) => {
    it('makes a table with the rows, columns, metadata and indexes of the latest version', async () => {
      const catalog = await open()
      await withSource(catalog)
      const made = await catalog.cloneTable({ id, source, ...how })
      expect(made).toMatchObject({ version: 1, properties: { owner: 'ops' } })
      expect(made.location).not.toBe((await catalog.describeTable({ id: source })).location)
      expect(await rowsOf(catalog, id)).toEqual(await rowsOf(catalog, source))
      const withIds = { with_row_id: true, filter: 'twice > 4' }
      expect(await rowsOf(catalog, id, withIds)).toEqual(await rowsOf(catalog, source, withIds))
      const [own, others] = await Promise.all(
        [id, source].map((id) => catalog.describeTable({ id, load_detailed_metadata: true })),
      )
      expect(own!.schema).toEqual(others!.schema)
      expect(own!.location).toBe(made.location)
      expect((await catalog.listTableIndices({ id })).indexes).toHaveLength(1)
      expect(Object.keys((await catalog.listTableTags({ id })).tags)).toEqual([])
      expect((await catalog.listTableVersions({ id })).versions.map(({ version }) => version)).toEqual([1])
      const { status } = await catalog.describeTransaction({ id: [made.transaction_id!] })
      expect(status).toBe('Succeeded')
    })

    it('takes the version, the tag or the branch that is named, and other properties', async () => {
      const catalog = await open()
      await withSource(catalog)
      await catalog.cloneTable({ id: ['v1'], source, source_version: 1, ...how })
      await catalog.cloneTable({ id: ['ten'], source, source_tag: 'ten', properties: {}, ...how })
      await catalog.cloneTable({ id: ['dev'], source, source_branch: 'dev', ...how })
      await catalog.cloneTable({ id: ['main'], source, source_branch: 'main', ...how })
      expect(await rowsOf(catalog, ['v1'])).toEqual(numbered(6))
      expect(await rowsOf(catalog, ['ten'])).toEqual(numbered(10))
      expect(await rowsOf(catalog, ['dev'])).toEqual([...numbered(10), ...numbered(1, 100)])
      expect(await countOf(catalog, ['main'])).toBe(8)
      expect((await catalog.describeTable({ id: ['ten'] })).properties).toEqual({})
    })

    it('leaves each of the two to its own changes', async () => {
      const catalog = await open()
      await withSource(catalog)
      const before = await rowsOf(catalog, source)
      await catalog.cloneTable({ id, source, ...how })
      await catalog.updateTable({ id, updates: [['name', "'changed'"]], predicate: 'n < 5' })
      await catalog.deleteFromTable({ id, predicate: 'n = 8' })
      await catalog.insertIntoTable({ id, data: [{ n: 50, half: 1, name: 'x', odd: false, twice: 1 }] })
      await catalog.optimizeTable({ id })
      expect(await rowsOf(catalog, source)).toEqual(before)
      const own = await rowsOf(catalog, id)
      await catalog.deleteFromTable({ id: source, predicate: 'true' })
      await catalog.optimizeTable({ id: source })
      expect(await rowsOf(catalog, id)).toEqual(own)
      await catalog.restoreTable({ id, version: 1 })
      expect(await rowsOf(catalog, id)).toEqual(before)
    })

    it('is not harmed when the other one is dropped, in either order', async () => {
      const catalog = await open()
      await withSource(catalog)
      const rows = await rowsOf(catalog, source)
      await catalog.cloneTable({ id, source, ...how })
      await catalog.cloneTable({ id: ['second'], source: id, ...how })
      await catalog.dropTable({ id })
      expect(await rowsOf(catalog, source)).toEqual(rows)
      expect(await rowsOf(catalog, ['second'])).toEqual(rows)
      await catalog.cloneTable({ id: ['third'], source: ['second'], ...how })
      await catalog.dropTable({ id: source })
      await catalog.dropTable({ id: ['second'] })
      expect(await rowsOf(catalog, ['third'])).toEqual(rows)
      await catalog.insertIntoTable({
        id: ['third'],
        data: [{ n: 1, half: 1, name: '', odd: true, twice: 2 }],
      })
      expect(await countOf(catalog, ['third'])).toBe(rows.length + 1)
      // The name of the source is free again, and its new table is another one.
      await catalog.createTable({ id: source, data: numbered(1) })
      expect(await countOf(catalog, ['third'])).toBe(rows.length + 1)
    })

    it('is part of a transaction', async () => {
      const catalog = await open()
      await withSource(catalog)
      await catalog.transaction(async (tx) => {
        await tx.deleteFromTable({ id: source, predicate: 'n > 0' })
        await tx.cloneTable({ id, source, ...how })
        await tx.insertIntoTable({ id, data: [{ n: 9, half: 1, name: '', odd: true, twice: 2 }] })
        await tx.dropTable({ id: source })
        await fails(catalog.countTableRows({ id }), 'TableNotFound')
      })
      expect((await rowsOf(catalog, id)).map(({ n }) => n)).toEqual([0, 9])
      const undone = catalog.transaction(async (tx) => {
        await tx.cloneTable({ id: ['undone'], source: id, ...how })
        throw new Error('no')
      })
      await expect(undone).rejects.toThrow('no')
      await fails(catalog.countTableRows({ id: ['undone'] }), 'TableNotFound')
      await catalog.dropTable({ id })
    })
  })

  it('keeps the location of a dropped source from others, also inside of a transaction', async () => {
    const catalog = await open()
    await withSource(catalog)
    const { location } = await catalog.describeTable({ id: source })
    await catalog.cloneTable({ id, source })
    await catalog.dropTable({ id: source })
    const other = { id: ['other'], location }
    await refuses(catalog, () => catalog.declareTable(other), 'TableAlreadyExists')
    await catalog.transaction(async (tx) => {
      // A refusal that is caught ends no transaction.
      await fails(tx.declareTable(other), 'TableAlreadyExists')
      await tx.declareTable({ id: ['besides'] })
    })
    await catalog.dropTable({ id })
    await catalog.transaction((tx) => tx.declareTable(other))
    await catalog.tableExists({ id: ['besides'] })
    expect((await catalog.describeTable({ id: ['other'] })).location).toBe(location)
  })

  it('finds the table to clone by its location, chosen or given', async () => {
    const folder = await freshFolder()
    const catalog = await open({ locationRoots: [folder] })
    await catalog.createTable({ id: source, data: numbered(3) })
    const { location } = await catalog.describeTable({ id: source })
    await catalog.cloneTable({ id, source_location: `${location}/` })
    expect(await rowsOf(catalog, id)).toEqual(numbered(3))
    await catalog.declareTable({ id: ['given'], location: join(folder, 'given') })
    await catalog.insertIntoTable({ id: ['given'], data: numbered(2) })
    await catalog.cloneTable({ id: ['deep'], source_location: join(folder, 'given'), is_shallow: false })
    expect(await rowsOf(catalog, ['deep'])).toEqual(numbered(2))
    await refuses(
      catalog,
      () => catalog.cloneTable({ id: ['x'], source_location: join(folder, 'other') }),
      'TableNotFound',
      'No table of this catalog lies at',
      'register it first',
    )
    // Its files lie in another place than those of a new table would.
    await refuses(
      catalog,
      () => catalog.cloneTable({ id: ['x'], source: ['given'] }),
      'InvalidInput',
      'another storage',
      'is_shallow false',
    )
  })

  it('refuses what says too little or too much', async () => {
    const catalog = await open()
    await withSource(catalog)
    const { location } = await catalog.describeTable({ id: source })
    await refuses(catalog, () => catalog.cloneTable({ id }), 'InvalidInput', 'Give one of them')
    await refuses(
      catalog,
      () => catalog.cloneTable({ id, source, source_location: location }),
      'InvalidInput',
      'Give one of them',
    )
    for (const more of [{ source_version: 1 }, { source_branch: 'dev' }]) {
      await refuses(
        catalog,
        () => catalog.cloneTable({ id, source, source_tag: 'ten', ...more }),
        'InvalidInput',
        'source_tag',
      )
    }
    await refuses(
      catalog,
      () => catalog.cloneTable({ id, source_location: 'nowhere' }),
      'InvalidInput',
      'neither a URL nor an absolute path',
    )
    await refuses(catalog, () => catalog.cloneTable({ id: source, source }), 'TableAlreadyExists')
  })
})

eachLocalCatalog((open) => {
  it('tells how far copying is, and stops when it is told to', async () => {
    const catalog = await open()
    await catalog.createTable({ id: source, data: numbered(10) })
    await catalog.insertIntoTable({ id: source, data: numbered(10) })
    const seen: number[] = []
    const onProgress = ({ rows, total }: { rows: number; total: number }) => {
      if (total > 0) seen.push(rows, total)
    }
    await catalog.cloneTable({ id, source, is_shallow: false }, { onProgress })
    expect(seen).toEqual([10, 20, 20, 20])
    const abort = new AbortController()
    const stopped = catalog.cloneTable(
      { id: ['x'], source, is_shallow: false },
      { signal: abort.signal, onProgress: ({ rows }) => rows > 0 && abort.abort() },
    )
    await expect(stopped).rejects.toThrow('abort')
    await fails(catalog.describeTable({ id: ['x'] }), 'TableNotFound')
  })

  it('asks whether the caller may read what is cloned, also where only its location is named', async () => {
    const asked: [string, unknown, boolean, string | undefined][] = []
    let secret = false
    const authorize: AuthorizeHook = ({ operation, id, changes, location }) => {
      asked.push([operation, id, changes, location])
      return !(secret && operation === 'queryTable')
    }
    const catalog = await open({ authorize })
    await catalog.createTable({ id: source, data: numbered(1) })
    const { location } = await catalog.describeTable({ id: source })
    asked.length = 0
    await catalog.cloneTable({ id, source })
    await catalog.cloneTable({ id: ['two'], source_location: location })
    expect(asked).toEqual([
      ['cloneTable', id, true, undefined],
      ['queryTable', source, false, undefined],
      ['cloneTable', ['two'], true, location],
      ['queryTable', source, false, undefined],
    ])
    secret = true
    for (const from of [{ source }, { source_location: location }]) {
      await fails(catalog.cloneTable({ id: ['x'], ...from }), 'PermissionDenied', 'queryTable')
    }
    await fails(catalog.describeTable({ id: ['x'] }), 'TableNotFound')
  })
})

test('clones of a table with very many fragments share them all', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await catalog.createTable({ id: source, data: numbered(1) })
  // Fragments beyond 256 have their entries in segments.
  for (let n = 1; n < 300; n++) await catalog.insertIntoTable({ id: source, data: numbered(1, n) })
  await catalog.deleteFromTable({ id: source, predicate: 'n % 50 = 0' })
  const rows = await rowsOf(catalog, source)
  await catalog.cloneTable({ id, source })
  await catalog.cloneTable({ id: ['again'], source: id })
  await catalog.cloneTable({ id: ['deep'], source: id, is_shallow: false })
  await catalog.dropTable({ id: source })
  await catalog.dropTable({ id })
  expect(await rowsOf(catalog, ['again'])).toEqual(rows)
  expect(await rowsOf(catalog, ['deep'])).toEqual(rows)
  await catalog.optimizeTable({ id: ['again'] })
  expect(await rowsOf(catalog, ['again'])).toEqual(rows)
  expect((await catalog.verify()).ok).toBe(true)
})

test('a server is told the location, and whose rows are read', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await catalog.createTable({ id: source, data: numbered(1) })
  const { location } = await catalog.describeTable({ id: source })
  const remote = closedAfterwards(await overHttp(catalog))
  await remote.cloneTable({ id, source_location: location })
  expect(await rowsOf(remote, id)).toEqual(numbered(1))
})

describe.each([1, 2])(
  'a rename of the source to the name of the clone, after %i reads of the store',
  (reads) => {
    /** Two catalogs over one store. `renames` is called once, after some reads by the first. */
    async function opened() {
      const store = memoryStore()
      const state: { left: number; renames: (() => Promise<unknown>) | undefined } = {
        left: Number.POSITIVE_INFINITY,
        renames: undefined,
      }
      const read: Store['read'] = async (body) => {
        const result = await store.read(body)
        if (--state.left === 0) await state.renames?.()
        return result
      }
      const watched = new Proxy(store, {
        get: (target, name) => {
          if (name === 'read') return read
          const member = target[name as keyof typeof target] as unknown
          return typeof member === 'function' ? member.bind(target) : member
        },
      })
      const content = memoryContent()
      const other = closedAfterwards(await openCatalog({ store, content }))
      const catalog = closedAfterwards(await openCatalog({ store: watched, content }))
      state.renames = () => other.renameTable({ id: source, new_table_name: 'clone' })
      const begin = (renames = state.renames) => Object.assign(state, { left: reads, renames })
      return { catalog, other, begin }
    }

    // A clone of a table that is named takes one read before its commit.
    it.skipIf(reads > 1).each([{ source_version: 1 }, { source_tag: 'v1' }, {}])(
      'makes no clone of %o later than that',
      async (of) => {
        const { catalog, other, begin } = await opened()
        await other.createTable({ id: source, data: numbered(2) })
        await other.createTableTag({ id: source, tag: 'v1', version: 1 })
        begin(async () => {
          await other.renameTable({ id: source, new_table_name: 'moved' })
          // Whoever looks now sees the source moved, and no clone.
          expect((await other.listTables({ id: [] })).tables).toEqual(['moved'])
        })
        expect(await catalog.cloneTable({ id, source, ...of }).catch(({ code }) => code)).toBe(
          'TableNotFound',
        )
      },
    )

    it.skipIf(reads > 1)('makes no clone by a tag that was moved', async () => {
      const { catalog, other, begin } = await opened()
      await other.createTable({ id: source, data: numbered(2) })
      await other.insertIntoTable({ id: source, data: numbered(3, 10) })
      await other.createTableTag({ id: source, tag: 'v1', version: 1 })
      begin(() => other.updateTableTag({ id: source, tag: 'v1', version: 2 }))
      await catalog.cloneTable({ id, source, source_tag: 'v1' })
      expect(await countOf(catalog, id)).toBe(5)
    })

    it('gives an answer or an error that some order of both explains', async () => {
      const { catalog, other, begin } = await opened()
      await other.createTable({ id: source, data: numbered(2) })
      begin()
      const code = await catalog.cloneTable({ id, source, source_version: 7 }).catch(({ code }) => code)
      // Before the rename the version is missing, and after it the name is taken.
      expect(['TableVersionNotFound', 'TableAlreadyExists']).toContain(code)
    })

    it('matters little where the source is named by its location', async () => {
      const { catalog, other, begin } = await opened()
      const { location } = await other.createTable({ id: source, data: numbered(2) })
      begin()
      const refused = await catalog.cloneTable({ id, source_location: location }).catch(({ code }) => code)
      expect(refused).toBe('TableAlreadyExists')
      expect(await countOf(catalog, id)).toBe(2)
    })
  },
)

import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type Catalog, CatalogError, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog, freshFolder } from '../../support/catalogs.ts'
import { eachContent, filesIn, pathOf, pathsOf } from '../../support/contents.ts'
import { inspect, tablesOf } from '../../support/inspect.ts'
import { fails, refuses, refusesEach } from '../../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']

/** A table with two versions on main, one more on `dev`, a tag on each, properties and metadata. */
async function withHistory(catalog: Catalog, table = id, location?: string) {
  if (location === undefined) {
    await catalog.createTable({ id: table, data: numbered(3), properties: { p: '1' } })
  } else {
    await catalog.declareTable({ id: table, location, properties: { p: '1' } })
    await catalog.insertIntoTable({ id: table, data: numbered(3) })
  }
  await catalog.insertIntoTable({ id: table, data: numbered(2, 3) })
  await catalog.createTableBranch({ id: table, name: 'dev', from_version: 1 })
  await catalog.insertIntoTable({ id: table, branch: 'dev', data: numbered(1, 100) })
  await catalog.createTableTag({ id: table, tag: 'one', version: 1 })
  await catalog.createTableTag({ id: table, tag: 'dev', version: 2, branch: 'dev' })
}

async function expectHistory(catalog: Catalog, table: readonly string[]) {
  expect(await rowsOf(catalog, table)).toEqual(numbered(5))
  expect(await rowsOf(catalog, table, { version: 1 })).toEqual(numbered(3))
  expect(await rowsOf(catalog, table, { branch: 'dev' })).toEqual([...numbered(3), ...numbered(1, 100)])
  expect(await catalog.getTableTagVersion({ id: [...table], tag: 'one' })).toEqual({ version: 1 })
  expect(await catalog.getTableTagVersion({ id: [...table], tag: 'dev' })).toEqual({
    version: 2,
    branch: 'dev',
  })
  expect((await catalog.listTableBranches({ id: [...table] })).branches).toMatchObject({
    dev: { parentVersion: 1 },
  })
  expect(await catalog.describeTable({ id: [...table] })).toMatchObject({ properties: { p: '1' } })
}

eachContent((open) => {
  describe('content', () => {
    it('lies where the catalog chose, below its own root', async () => {
      const { catalog, content } = await open()
      const { location } = await catalog.createTable({ id, data: numbered(1) })
      const paths = await pathsOf(content, '')
      expect(paths.filter((path) => path.startsWith(pathOf(location))).length).toBeGreaterThanOrEqual(2)
      expect(
        paths.filter((path) => path.startsWith('tables/') && !path.startsWith(pathOf(location))),
      ).toEqual([])
    })

    it('goes with a table that is dropped, and with one in a namespace that is dropped or overwritten', async () => {
      const { catalog, content } = await open()
      for (const name of ['n', 'm']) {
        await catalog.createNamespace({ id: [name] })
        await catalog.createTable({ id: [name, 't'], data: numbered(1) })
      }
      await catalog.createTable({ id, data: numbered(1) })
      await catalog.dropTable({ id })
      await catalog.dropNamespace({ id: ['n'], behavior: 'Cascade' })
      await catalog.createNamespace({ id: ['m'], mode: 'Overwrite' })
      expect(await pathsOf(content)).toEqual([])
    })

    it('stays when a table is deregistered, alone, in a batch, or by one registered in its place', async () => {
      const { catalog, content } = await open()
      for (const name of ['a', 'b', 'c']) await catalog.createTable({ id: [name], data: numbered(1) })
      const before = await pathsOf(content)
      await catalog.deregisterTable({ id: ['a'] })
      await catalog.batchCommitTables({ operations: [{ deregister_table: { id: ['b'] } }] })
      await catalog.registerTable({ id: ['c'], location: 's3://bucket/c', mode: 'Overwrite' })
      expect(await pathsOf(content)).toEqual(expect.arrayContaining(before))
    })

    it('of a table that is created with Overwrite is replaced', async () => {
      const { catalog, content } = await open()
      const first = await catalog.createTable({ id, data: numbered(1) })
      const second = await catalog.createTable({ id, data: numbered(2), mode: 'Overwrite' })
      const paths = await pathsOf(content)
      expect(paths.filter((path) => path.startsWith(pathOf(first.location)))).toEqual([])
      expect(paths.every((path) => path.startsWith(pathOf(second.location)))).toBe(true)
    })

    it('of a table that could not be created does not stay behind', async () => {
      const { catalog, content } = await open()
      await catalog.createTable({ id, data: numbered(1) })
      const before = await pathsOf(content)
      await Promise.allSettled([
        catalog.createTable({ id, data: numbered(1) }),
        catalog.createTable({ id: ['x', 'y'], data: numbered(1) }),
        catalog.createTable({ id: ['same'], data: numbered(1) }),
        catalog.createTable({ id: ['same'], data: numbered(1) }),
        catalog.createTable({ id: ['same'], data: numbered(1) }),
      ])
      await catalog.dropTable({ id: ['same'] })
      expect(await pathsOf(content)).toEqual(before)
    })
  })

  describe('deregister, then register', () => {
    it('brings rows, versions, tags, branches and properties back', async () => {
      const { catalog } = await open()
      await withHistory(catalog)
      const before = await inspect(catalog)
      const { location } = await catalog.deregisterTable({ id })
      const answer = await catalog.registerTable({ id, location })
      expect(answer).toMatchObject({ location, properties: { p: '1' } })
      expect(await inspect(catalog)).toEqual(before)
      await expectHistory(catalog, id)
    })

    it('nothing else takes the content that waits, or what lies above or below it', async () => {
      const { catalog, content } = await open()
      await catalog.createTable({ id, data: numbered(3) })
      await catalog.createTable({ id: ['other'], data: numbered(1) })
      const { location } = await catalog.deregisterTable({ id })
      const before = await pathsOf(content)
      const folders = [location, `${location}/`, `${location}/data`, `${location}/a/b`]
      for (const taken of folders) {
        await refusesEach(
          catalog,
          [
            () => catalog.declareTable({ id, location: taken }),
            () => catalog.batchCommitTables({ operations: [{ declare_table: { id, location: taken } }] }),
          ],
          'TableAlreadyExists',
          'waits to be registered',
          'Register that content',
        )
      }
      for (const taken of folders.slice(2)) {
        await refusesEach(
          catalog,
          [
            () => catalog.registerTable({ id, location: taken }),
            () => catalog.registerTable({ id: ['other'], location: taken, mode: 'Overwrite' }),
          ],
          'TableAlreadyExists',
          'waits to be registered',
        )
      }
      expect(await pathsOf(content)).toEqual(before)
      await catalog.registerTable({ id, location })
      expect(await rowsOf(catalog, id)).toEqual(numbered(3))
      // Once it is registered and dropped, the place is free.
      await catalog.dropTable({ id })
      await catalog.declareTable({ id, location: `${location}/a` })
    })

    it('keeps what others wrote at the location of a table that was only declared', async () => {
      const { catalog, content } = await open()
      const { location } = await catalog.declareTable({ id })
      await content.put(`${pathOf(location)}data/0.lance`, new Uint8Array(3))
      await catalog.deregisterTable({ id })
      const before = await pathsOf(content)
      expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
      await fails(catalog.declareTable({ id, location }), 'TableAlreadyExists', 'waits to be registered')
      expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
      await catalog.registerTable({ id: ['u'], location })
      expect(await pathsOf(content)).toEqual(before)
      expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
      await catalog.dropTable({ id: ['u'] })
      expect(await pathsOf(content)).toEqual([])
    })

    it('under another name, in another namespace, after a rename, and more than once', async () => {
      const { catalog } = await open()
      await withHistory(catalog)
      await catalog.createNamespace({ id: ['n'] })
      await catalog.renameTable({ id, new_table_name: 'u' })
      let { location } = await catalog.deregisterTable({ id: ['u'] })
      await catalog.registerTable({ id: ['n', 'v'], location })
      await expectHistory(catalog, ['n', 'v'])
      expect(await catalog.insertIntoTable({ id: ['n', 'v'], data: numbered(1, 5) })).toMatchObject({
        version: 3,
      })
      await catalog.deleteTableTag({ id: ['n', 'v'], tag: 'one' })
      location = (await catalog.deregisterTable({ id: ['n', 'v'] })).location
      await catalog.registerTable({ id: ['w'], location })
      expect(await rowsOf(catalog, ['w'])).toEqual(numbered(6))
      expect(Object.keys((await catalog.listTableTags({ id: ['w'] })).tags)).toEqual(['dev'])
    })

    it('goes on with the numbers: none is given twice', async () => {
      const { catalog } = await open()
      await withHistory(catalog)
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 2, end_version: 3 }] })
      const { location } = await catalog.deregisterTable({ id })
      await catalog.registerTable({ id, location })
      expect(await catalog.insertIntoTable({ id, data: numbered(1, 3) })).toMatchObject({ version: 3 })
    })

    it('takes the properties that are given in place of those it had', async () => {
      const { catalog } = await open()
      await withHistory(catalog)
      const { location } = await catalog.deregisterTable({ id })
      expect(await catalog.registerTable({ id, location, properties: { q: '2' } })).toMatchObject({
        properties: { q: '2' },
      })
    })

    it('a table registered over itself keeps all it has', async () => {
      const { catalog } = await open()
      await withHistory(catalog)
      const { location } = await catalog.describeTable({ id })
      const before = await inspect(catalog)
      await catalog.registerTable({ id, location, mode: 'Overwrite' })
      expect(await inspect(catalog)).toEqual(before)
      await expectHistory(catalog, id)
    })

    it('a batch that failed after it, a drop after it: neither brings an old state back', async () => {
      const { catalog } = await open()
      await withHistory(catalog)
      await fails(
        catalog.batchCommitTables({
          operations: [{ deregister_table: { id } }, { deregister_table: { id } }],
        }),
        'TableNotFound',
      )
      await catalog.deleteTableTag({ id, tag: 'one' })
      await catalog.insertIntoTable({ id, data: numbered(1, 5) })
      const { location } = await catalog.deregisterTable({ id })
      await catalog.registerTable({ id, location })
      expect(await rowsOf(catalog, id)).toEqual(numbered(6))
      expect(Object.keys((await catalog.listTableTags({ id })).tags)).toEqual(['dev'])
      await catalog.dropTable({ id })
      await catalog.registerTable({ id, location })
      expect(await catalog.listTableVersions({ id })).toEqual({ versions: [] })
    })

    it('at once from many: one gives it up, one takes it, and nothing is lost', async () => {
      const { catalog } = await open()
      await withHistory(catalog)
      let { location } = await catalog.describeTable({ id })
      for (let round = 0; round < 5; round++) {
        await Promise.allSettled([
          catalog.deregisterTable({ id }),
          catalog.registerTable({ id: ['u'], location }),
          catalog.registerTable({ id: ['v'], location }),
          catalog.deregisterTable({ id: ['u'] }),
        ])
        const [holder, ...others] = await tablesOf(catalog)
        expect(others).toEqual([])
        if (holder === undefined) await catalog.registerTable({ id, location })
        else if (holder !== 't') await catalog.renameTable({ id: [holder], new_table_name: 't' })
        location = (await catalog.describeTable({ id })).location
        await expectHistory(catalog, id)
      }
    })
  })
})

eachCatalog((open) => {
  describe('a given location', () => {
    it('below a folder the catalog may use holds the rows, in files', async () => {
      const folder = await freshFolder()
      const catalog = await open({ locationRoots: [folder] })
      await withHistory(catalog, id, join(folder, 'here'))
      expect(await catalog.describeTable({ id })).toMatchObject({
        location: pathToFileURL(join(folder, 'here')).href,
      })
      await expectHistory(catalog, id)
      expect((await filesIn(join(folder, 'here'))).length).toBeGreaterThan(5)
    })

    it('is brought to one spelling', async () => {
      const folder = await freshFolder()
      const catalog = await open({ locationRoots: [folder] })
      const wanted = pathToFileURL(join(folder, 'x y')).href
      for (const location of [
        join(folder, 'x y'),
        `${folder}/x y/`,
        `${folder}//x y`,
        `${folder}/a/../x y`,
        `${folder}/./x y`,
        `file://${folder}/x%20y`,
        `file://localhost${folder}/x y//`,
        `FILE://${folder}/%78%20y`,
        `file://${folder}/a/%2e%2e/x%20y`,
      ]) {
        expect(await catalog.declareTable({ id, location })).toMatchObject({ location: wanted })
        await catalog.dropTable({ id })
      }
    })

    it('of another scheme is stored as given and left alone', async () => {
      const catalog = await open()
      for (const location of ['s3://bucket/a/../b', 'gs://b/x?y=z#f', 'abfss://c@a.b/x y', 'custom:thing']) {
        expect(await catalog.declareTable({ id, location })).toMatchObject({ location })
        await fails(
          catalog.insertIntoTable({ id, data: numbered(1) }),
          'InvalidTableState',
          location,
          'locationRoots',
        )
        expect(await catalog.dropTable({ id })).toMatchObject({ location })
      }
    })

    it('belongs to one name at a time: the second, one within or one around it are refused', async () => {
      const folder = await freshFolder()
      const catalog = await open({ locationRoots: [folder] })
      await catalog.createNamespace({ id: ['n'] })
      await catalog.declareTable({ id: ['n', 'owner'], location: join(folder, 'a/b') })
      for (const location of [
        join(folder, 'a/b'),
        `${folder}/a/b/`,
        `${folder}/a/c/../b`,
        join(folder, 'a/b/c/d'),
        join(folder, 'a'),
      ]) {
        await refusesEach(
          catalog,
          [
            () => catalog.declareTable({ id, location }),
            () => catalog.registerTable({ id, location }),
            () => catalog.batchCommitTables({ operations: [{ declare_table: { id, location } }] }),
          ],
          'TableAlreadyExists',
          'table n$owner',
          'a location of its own',
        )
      }
      // Beside it, and where the names only begin alike, is free.
      await catalog.declareTable({ id: ['x'], location: join(folder, 'a/bb') })
      await catalog.declareTable({ id: ['y'], location: join(folder, 'a/c') })
      // Dropping or deregistering the table, or dropping its namespace, frees the location.
      await catalog.dropNamespace({ id: ['n'], behavior: 'Cascade' })
      await catalog.declareTable({ id, location: join(folder, 'a/b') })
      await catalog.dropTable({ id })
      await catalog.declareTable({ id, location: join(folder, 'a/b/c') })
      await catalog.dropTable({ id })
      await catalog.registerTable({ id, location: join(folder, 'a/b') })
    })

    it('of another scheme belongs to one name as well', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['owner'], location: 's3://bucket/a/b' })
      for (const location of ['s3://bucket/a/b', 's3://bucket/a/b/', 's3://bucket/a', 's3://bucket/a/b/c']) {
        await refuses(
          catalog,
          () => catalog.registerTable({ id, location }),
          'TableAlreadyExists',
          'table owner',
        )
      }
      await catalog.declareTable({ id, location: 's3://bucket/ab' })
    })

    it('that the catalog chose for one table is no other’s', async () => {
      const catalog = await open()
      const { location } = await catalog.createTable({ id: ['owner'], data: numbered(1) })
      for (const given of [location, `${location}/`, `${location}/below/it`]) {
        await refusesEach(
          catalog,
          [
            () => catalog.declareTable({ id, location: given }),
            () => catalog.registerTable({ id, location: given }),
            () => catalog.registerTable({ id, location: given, mode: 'Overwrite' }),
          ],
          'TableAlreadyExists',
          'table owner',
          'a location of its own',
        )
      }
      expect(await countOf(catalog, ['owner'])).toBe(1)
    })

    it('is no place of the catalog’s own, nor one around it', async () => {
      const folder = await freshFolder()
      await mkdir(join(folder, 'roots/one'), { recursive: true })
      const catalog = await open({ locationRoots: [folder, join(folder, 'roots/one')] })
      const { location } = await catalog.declareTable({ id: ['probe'] })
      const root = location.slice(0, location.indexOf('tables/'))
      const own = open.kind === 'lmdb' ? ['catalog.mdb', 'catalog.mdb/x', 'catalog.mdb-lock'] : []
      for (const given of [
        root,
        `${root}tables`,
        `${root}tables/`,
        `${root}registrations`,
        `${root}registrations/x`,
      ]) {
        await refuses(
          catalog,
          () => catalog.declareTable({ id, location: given }),
          'InvalidInput',
          'location',
          'name',
        )
      }
      for (const name of own) {
        await refuses(
          catalog,
          () => catalog.declareTable({ id, location: root + name }),
          'InvalidInput',
          'keeps its own records',
        )
      }
      for (const around of [folder, join(folder, 'roots'), join(folder, 'roots/one'), '/']) {
        await refuses(
          catalog,
          () => catalog.declareTable({ id, location: around }),
          'InvalidInput',
          'location',
          'name',
        )
      }
    })

    it.each([
      ['empty', '', '0 characters'],
      ['longer than 1,024 characters', `s3://${'x'.repeat(1_024)}`, '1029 characters'],
      ['a relative path', 'tables/t', 'neither a URL nor an absolute path'],
      ['a relative path with dots', '../t', 'neither a URL nor an absolute path'],
      ['with a control character', 's3://bucket/a\nb', 'control character'],
      ['with NUL', '/tmp/a\0b', 'control character'],
      ['with half a surrogate pair', 's3://bucket/\ud800', 'surrogate'],
      ['only a scheme', 's3://', 'names no folder'],
      ['a file on another host', 'file://host/folder', 'not a file URL of this machine'],
      ['a file URL with an encoded slash', 'file:///tmp/a%2Fb', 'not a file URL of this machine'],
      ['a file URL with broken escapes', 'file:///tmp/%zz', 'not a file URL of this machine'],
    ])('that is %s is refused', async (_, location, message) => {
      const catalog = await open()
      await refuses(catalog, () => catalog.declareTable({ id, location }), 'InvalidInput', message)
      await refuses(catalog, () => catalog.registerTable({ id, location }), 'InvalidInput', message)
    })

    it('that is no text is refused', async () => {
      const catalog = await open()
      for (const location of [7, ['s3://x'], {}]) {
        await refuses(
          catalog,
          () => catalog.registerTable({ id, location } as never),
          'InvalidInput',
          'location must',
        )
      }
    })
  })

  describe('out of reach', () => {
    it('a file location is a name only: nothing there is read, written or removed', async () => {
      const folder = await freshFolder()
      await mkdir(join(folder, 'theirs'))
      await writeFile(join(folder, 'theirs', 'file'), 'x')
      const catalog = await open()
      const location = join(folder, 'theirs')
      await catalog.declareTable({ id, location })
      await refusesEach(
        catalog,
        [
          () => catalog.insertIntoTable({ id, data: numbered(1) }),
          () => catalog.createTable({ id, data: numbered(1) }),
        ],
        'InvalidTableState',
        location,
        'locationRoots',
      )
      await catalog.createTableVersion({ id, version: 1, manifest_path: 'm' })
      await fails(catalog.countTableRows({ id }), 'InvalidTableState', 'another engine')
      await fails(catalog.queryTable({ id }), 'InvalidTableState')
      await catalog.deregisterTable({ id })
      await catalog.registerTable({ id, location })
      await catalog.dropTable({ id })
      expect(await filesIn(folder)).toEqual(['theirs/file'])
    })

    it('".." does not lead out of a folder the catalog may use', async () => {
      const folder = await freshFolder()
      await mkdir(join(folder, 'root'))
      await mkdir(join(folder, 'outside'))
      await writeFile(join(folder, 'outside', 'file'), 'x')
      const catalog = await open({ locationRoots: [join(folder, 'root')] })
      for (const location of [
        `${folder}/root/../outside`,
        `file://${folder}/root/../outside`,
        `file://${folder}/root/%2e%2e/outside`,
        `${folder}/root/a/../../outside`,
      ]) {
        await catalog.declareTable({ id, location })
        await fails(catalog.insertIntoTable({ id, data: numbered(1) }), 'InvalidTableState', 'outside')
        await catalog.dropTable({ id })
      }
      const { location } = await catalog.declareTable({ id: ['probe'] })
      const own = location.slice(0, location.indexOf('tables/'))
      for (const given of [
        `${own}../outside`,
        `${own}tables/../../outside`,
        `${own}%2e%2e/x`,
        `${own}a/./b`,
      ]) {
        const declared = await catalog.declareTable({ id, location: given }).catch((error) => error)
        if (declared.code === 'InvalidInput') continue
        expect(declared.location).not.toContain('..')
        expect(declared.location).not.toContain('%2e')
        await catalog.dropTable({ id })
      }
      expect(await filesIn(join(folder, 'outside'))).toEqual(['file'])
    })

    it('a symbolic link does not lead out either: not to read, to write or to remove', async () => {
      const folder = await freshFolder()
      await mkdir(join(folder, 'root'))
      // Real content of another catalog, which this one must not get at.
      const other = closedAfterwards(await openCatalog('memory:', { locationRoots: [folder] }))
      await withHistory(other, id, join(folder, 'outside/table'))
      await other.deregisterTable({ id })
      const outside = await filesIn(join(folder, 'outside'))
      await symlink(join(folder, 'outside'), join(folder, 'root', 'link'))
      await symlink(join(folder, 'outside', 'table'), join(folder, 'root', 'table'))
      const catalog = await open({ locationRoots: [join(folder, 'root')], cacheBytes: 0 })
      for (const path of ['link/table', 'table']) {
        const location = join(folder, 'root', path)
        await fails(catalog.registerTable({ id, location }), 'PermissionDenied', /leads? out|outside/)
      }
      for (const path of ['link/new', 'link/table', 'table']) {
        await catalog.declareTable({ id, location: join(folder, 'root', path) })
        await fails(
          catalog.insertIntoTable({ id, data: numbered(1) }),
          'PermissionDenied',
          /leads? out|outside/,
        )
        await catalog.dropTable({ id })
        expect(await filesIn(join(folder, 'outside'))).toEqual(outside)
      }
      expect(await readdir(join(folder, 'root'))).toContain('link')
    })
  })

  describe('content that moves from catalog to catalog', () => {
    it('brings rows, versions, tags and branches along', async () => {
      const folder = await freshFolder()
      const one = await open({ locationRoots: [folder] })
      await withHistory(one, id, join(folder, 'moving'))
      await one.renameTable({ id, new_table_name: 'u' })
      const { location } = await one.deregisterTable({ id: ['u'] })
      const two = await open({ locationRoots: [folder] })
      await two.createNamespace({ id: ['n'] })
      await two.registerTable({ id: ['n', 'v'], location })
      await expectHistory(two, ['n', 'v'])
      await two.insertIntoTable({ id: ['n', 'v'], data: numbered(1, 5) })
      await two.deregisterTable({ id: ['n', 'v'] })
      // And back, with what happened there.
      await one.registerTable({ id, location })
      expect(await rowsOf(one, id)).toEqual(numbered(6))
      expect((await one.listTableVersions({ id })).versions.map(({ version }) => version)).toEqual([1, 2, 3])
    })

    it('without the registration it is another engine’s: described and listed, but not read', async () => {
      const folder = await freshFolder()
      await mkdir(join(folder, 'theirs'))
      await writeFile(join(folder, 'theirs', 'data.lance'), 'x')
      const catalog = await open({ locationRoots: [folder] })
      await catalog.registerTable({ id, location: join(folder, 'theirs') })
      expect(await catalog.listTables({ id: [], include_declared: false })).toEqual({ tables: ['t'] })
      await refusesEach(
        catalog,
        [
          () => catalog.countTableRows({ id }),
          () => catalog.queryTable({ id }),
          () => catalog.deleteFromTable({ id, predicate: 'true' }),
          () => catalog.insertIntoTable({ id, data: numbered(1) }),
          () => catalog.updateTableSchemaMetadata({ id, metadata: {} }),
        ],
        'InvalidTableState',
        /registered|another engine/,
        'engine that wrote it',
      )
      await catalog.deregisterTable({ id })
      expect(await readFile(join(folder, 'theirs', 'data.lance'), 'utf8')).toBe('x')
      await catalog.registerTable({ id, location: join(folder, 'theirs') })
      await catalog.dropTable({ id })
      expect(await filesIn(folder)).toEqual([])
    })
  })
})

describe('between two LMDB catalogs', () => {
  it('a table moves from the root of one to the other', async () => {
    const [here, there] = [await freshFolder(), await freshFolder()]
    const one = closedAfterwards(await openCatalog(here))
    await withHistory(one)
    const { location } = await one.deregisterTable({ id })
    await one.close()
    const two = closedAfterwards(await openCatalog(there, { locationRoots: [join(here, 'tables')] }))
    await two.registerTable({ id: ['moved'], location })
    await expectHistory(two, ['moved'])
  })
})

describe('in memory', () => {
  it('a location has one spelling, and none that leads elsewhere', async () => {
    const catalog = await openCatalog('memory:')
    const { location } = await catalog.declareTable({ id: ['probe'] })
    const root = location.slice(0, location.indexOf('tables/'))
    expect(await catalog.declareTable({ id, location: `${root}a%2Fb%20c` })).toMatchObject({
      location: `${root}a/b%20c`,
    })
    for (const given of ['a/b c', 'a%2fb%20c', '%61/b%20c/d', 'a']) {
      await fails(
        catalog.declareTable({ id: ['u'], location: root + given }),
        'TableAlreadyExists',
        'table t',
      )
    }
    for (const given of ['%zz', 'a//b', 'a/../b', './a', '%2e%2e/a', 'a%00b', 'a/%2e']) {
      await fails(
        catalog.declareTable({ id: ['u'], location: root + given }),
        'InvalidInput',
        'not a plain path',
      )
    }
    await catalog.insertIntoTable({ id, data: numbered(2) })
    expect(await countOf(catalog, id)).toBe(2)
  })
})

describe('a store that fails in the middle', () => {
  async function opened() {
    const store = memoryStore()
    const content = memoryContent()
    let afterWrite = () => {}
    let isBroken = false
    const failing: Store = {
      features: store.features,
      read: async (body) => {
        if (isBroken) throw new CatalogError('ServiceUnavailable', 'The disk broke. Mend it.')
        return store.read(body)
      },
      write: async (body) => {
        const result = await store.write(body)
        afterWrite()
        return result
      },
      close: () => store.close(),
    }
    const catalog = closedAfterwards(await openCatalog({ store: failing, content, root: 's3://bucket' }))
    const other = closedAfterwards(await openCatalog({ store, content, root: 's3://bucket' }))
    return {
      catalog,
      other,
      content,
      breaksAfter: (work: (() => void) | undefined) => {
        afterWrite = work ?? (() => {})
        isBroken = false
      },
      break: () => {
        isBroken = true
      },
    }
  }

  it('a drop that was committed succeeds, also when its content cannot be removed now', async () => {
    const { catalog, other, content, ...store } = await opened()
    await catalog.createTable({ id, data: numbered(3) })
    store.breaksAfter(store.break)
    await catalog.dropTable({ id })
    expect(await tablesOf(other)).toEqual([])
    expect(await pathsOf(content)).not.toEqual([])
  })

  it('content stays where a commit failed and was made all the same', async () => {
    const { catalog, other, ...store } = await opened()
    let writes = 0
    store.breaksAfter(() => {
      // The first one commits.
      if (++writes === 1) throw new CatalogError('ServiceUnavailable', 'The disk broke. Mend it.')
    })
    const made = catalog.createTable({ id, data: numbered(3) })
    const error = await made.catch((error) => error)
    expect(error).toMatchObject({ code: 'ServiceUnavailable' })
    expect(await rowsOf(other, id)).toEqual(numbered(3))
    expect(await other.describeTransaction({ id: [error.transaction_id] })).toMatchObject({
      status: 'Succeeded',
    })
  })
})

import { expect, it } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { eachContent, pathOf, pathsOf } from '../../support/contents.ts'
import { lanceIt } from '../../support/lance-package.ts'

/*
 * A client may write rows at the location of a table that was declared for it, and tell the catalog nothing.
 */

const bytes = Uint8Array.of(1, 2, 3)
const rows = [{ n: 1 }, { n: 2 }]

/** Declares a table, and writes there as another engine does. */
async function written(catalog: LocalCatalog, content: Content, ...id: string[]): Promise<string> {
  const { location } = await catalog.declareTable({ id })
  await content.put(`${pathOf(location)}data/1.lance`, bytes)
  await content.put(`${pathOf(location)}_versions/1.manifest`, bytes)
  return pathOf(location)
}

async function isOnlyDeclared(catalog: LocalCatalog, ...id: string[]) {
  const answers = [
    await catalog.describeTable({ id, check_declared: true }),
    await catalog.describeTable({ id, load_detailed_metadata: true }),
  ].map(({ is_only_declared }) => is_only_declared)
  expect(answers[0]).toBe(answers[1])
  return answers[0]
}

eachContent((open) => {
  it('a declared table is created once another engine wrote at its location', async () => {
    const { catalog, content } = await open()
    await catalog.declareTable({ id: ['a'] })
    await written(catalog, content, 'b')
    expect([await isOnlyDeclared(catalog, 'a'), await isOnlyDeclared(catalog, 'b')]).toEqual([true, false])
    expect(await catalog.describeTable({ id: ['b'] })).not.toHaveProperty('is_only_declared')
    expect(await catalog.listTables({ id: [], include_declared: false })).toEqual({ tables: ['b'] })
    expect(await catalog.listTables({ id: [] })).toEqual({ tables: ['a', 'b'] })
  })

  it('the version of a table that another engine wrote is the latest of its manifests', async () => {
    const { catalog, content } = await open()
    const versionOf = async (id: string[]) =>
      (await catalog.describeTable({ id, load_detailed_metadata: true })).version
    await catalog.declareTable({ id: ['a'] })
    expect(await versionOf(['a'])).toBeUndefined()
    const counted = await written(catalog, content, 'b')
    await content.put(`${counted}_versions/12.manifest`, bytes)
    await content.put(`${counted}_versions/9.manifest`, bytes)
    await content.put(`${counted}_versions/13.manifest-0b5a`, bytes)
    expect(await versionOf(['b'])).toBe(12)
    const { location } = await catalog.declareTable({ id: ['c'] })
    for (const version of [1n, 2n, 10n])
      await content.put(`${pathOf(location)}_versions/${2n ** 64n - 1n - version}.manifest`, bytes)
    expect(await versionOf(['c'])).toBe(10)
    // Versions that are recorded come after those.
    await catalog.createTableVersion({ id: ['c'], version: 11, manifest_path: 'm' })
    expect(await versionOf(['c'])).toBe(11)
  })

  it('pages of created tables are full, and the last one has no token', async () => {
    const { catalog, content } = await open()
    await catalog.createNamespace({ id: ['n'] })
    const created = ['b', 'c', 'f', 'n$y', 'n$z', 'p']
    for (const name of ['a', 'd', 'e', 'n$x', 'o', 'q']) await catalog.declareTable({ id: name.split('$') })
    for (const name of created) {
      if (name === 'c') await catalog.createTable({ id: ['c'], data: rows })
      else await written(catalog, content, ...name.split('$'))
    }
    for (const recursive of [true, false]) {
      const wanted = recursive ? created : created.filter((name) => !name.includes('$'))
      for (let limit = 1; limit <= wanted.length + 1; limit++) {
        const pages: (readonly string[])[] = []
        for (let page_token: string | null | undefined; ; ) {
          const page = await catalog.listTables({
            id: [],
            include_declared: false,
            recursive,
            limit,
            page_token,
          })
          pages.push(page.tables)
          page_token = page.page_token
          if (!page_token) break
        }
        expect(pages.flat()).toEqual(wanted)
        expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
        expect(pages).toHaveLength(Math.ceil(wanted.length / limit))
      }
    }
    expect(await catalog.listTables({ id: [], include_declared: false, limit: 0 })).toMatchObject({
      tables: [],
      page_token: expect.any(String),
    })
  })

  it('a page of many that are only declared ends early, and the walk goes on', async () => {
    const { catalog, content } = await open()
    const operations = Array.from({ length: 1_300 }, (_, n) => ({ declare_table: { id: [`t${1000 + n}`] } }))
    await catalog.batchCommitTables({ operations })
    await written(catalog, content, 'u')
    const tables: string[] = []
    let page_token: string | null | undefined
    do {
      const page = await catalog.listTables({ id: [], include_declared: false, page_token })
      tables.push(...page.tables)
      page_token = page.page_token
    } while (page_token)
    expect(tables).toEqual(['u'])
    expect(await catalog.listTables({ id: [], include_declared: false, recursive: false })).toEqual({
      tables: ['u'],
    })
  })

  it('where clients keep versions through the catalog, versions alone decide', async () => {
    const { catalog, content } = await open({ managedVersioning: true })
    for (const id of ['a', 'b']) {
      const { location } = await catalog.declareTable({ id: [id] })
      await content.put(`${pathOf(location)}data/1.lance`, bytes)
    }
    // A version that was published past the catalog is one, too.
    await written(catalog, content, 'c')
    expect(await catalog.listTables({ id: [], include_declared: false })).toEqual({ tables: ['c'] })
    expect([await isOnlyDeclared(catalog, 'a'), await isOnlyDeclared(catalog, 'c')]).toEqual([true, false])
    await catalog.createTableVersion({ id: ['a'], version: 1, manifest_path: '1.manifest' })
    expect([await isOnlyDeclared(catalog, 'a'), await isOnlyDeclared(catalog, 'b')]).toEqual([false, true])
    expect(await catalog.listTables({ id: [], include_declared: false })).toEqual({ tables: ['a', 'c'] })
  })

  it('what our own engine left behind before a first version makes no table', async () => {
    const { catalog, content } = await open()
    await catalog.createTable({ id: ['fromOwnEngine'], data: rows })
    await catalog.deleteFromTable({ id: ['fromOwnEngine'], predicate: 'n = 1' })
    const { location } = await catalog.describeTable({ id: ['fromOwnEngine'] })
    const target = await catalog.declareTable({ id: ['a'] })
    const paths = await pathsOf(content, pathOf(location))
    expect(paths.map((path) => path.slice(pathOf(location).length).split('/')[0]).sort()).toEqual([
      '_versions',
      '_versions',
      'data',
      'deletions',
    ])
    for (const path of paths) {
      const copy = pathOf(target.location) + path.slice(pathOf(location).length)
      await content.put(copy, (await content.get(path))!)
    }
    expect(await isOnlyDeclared(catalog, 'a')).toBe(true)
    await catalog.insertIntoTable({ id: ['a'], data: rows })
    expect(await catalog.countTableRows({ id: ['a'] })).toMatchObject({ count: 2 })
  })

  lanceIt('rows of another engine are neither read nor mixed with fromOwnEngine', async () => {
    const { catalog, content } = await open()
    const folder = await written(catalog, content, 'a')
    const id = ['a']
    const before = await pathsOf(content, folder)
    for (const refused of [
      () => catalog.insertIntoTable({ id, data: rows }),
      () => catalog.insertIntoTable({ id, data: rows, mode: 'Overwrite' }),
      () => catalog.deleteFromTable({ id, predicate: 'true' }),
      () => catalog.updateTableSchemaMetadata({ id, metadata: {} }),
      () => catalog.countTableRows({ id }),
      () => catalog.countTableRows({ id, predicate: 'n = 1' }),
      () => catalog.queryTable({ id }),
    ]) {
      await expect(refused()).rejects.toMatchObject({
        code: 'InvalidTableState',
        message: expect.stringMatching(
          /Use the engine that wrote it|Lance cannot read|manifest of version 1 of a is damaged/,
        ),
      })
    }
    await expect(catalog.createTable({ id, data: rows })).rejects.toMatchObject({
      code: 'TableAlreadyExists',
    })
    // The version that lies there was recorded when its rows were asked for.
    expect(await catalog.createTable({ id, data: rows, mode: 'ExistOk' })).toMatchObject({ version: 1 })
    expect(await pathsOf(content, folder)).toEqual(before)

    await catalog.createTable({ id, data: rows, mode: 'Overwrite' })
    expect(await pathsOf(content, folder)).toEqual([])
    expect(await catalog.countTableRows({ id })).toMatchObject({ count: 2 })
  })

  it('a vacuum leaves alone what another engine wrote beside our rows', async () => {
    const { catalog, content } = await open()
    await catalog.createTable({ id: ['a'], data: rows })
    const { location } = await catalog.describeTable({ id: ['a'] })
    const foreign = `${pathOf(location)}data/1.lance`
    await content.put(foreign, bytes)
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
    expect(await pathsOf(content)).toContain(foreign)
    await catalog.dropTable({ id: ['a'] })
    expect(await pathsOf(content)).toEqual([])
  })
})

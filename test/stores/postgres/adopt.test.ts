import { cp, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type CatalogRecord, keys } from '../../../src/base/store/records.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import {
  type AdoptReport,
  adoptContent,
  type LocalCatalog,
  openCatalog,
} from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { pathsOf } from '../../support/contents.ts'
import { missingPostgres } from '../../support/postgres.ts'
import { filesIn, original, templateOf } from './copied.ts'

const data = [{ x: 1 }, { x: 2 }]
const names = ['a', 'b', 'c']

async function fill(catalog: LocalCatalog): Promise<void> {
  for (const name of names) {
    await catalog.createTable({ id: [name], data })
    await catalog.insertIntoTable({ id: [name], data: [{ x: 3 }] })
  }
}

/** A new place for rows: its folder, and its URL. */
async function freshPlace(): Promise<{ rows: string; content: string }> {
  const rows = join(await freshFolder(), 'own')
  return { rows, content: pathToFileURL(rows).href }
}

async function sound(url: string, tables: number): Promise<LocalCatalog> {
  const catalog = closedAfterwards(await openCatalog(url))
  expect(catalog.isCopy).toBe(false)
  const report = await catalog.verify()
  expect(report.findings.filter(({ severity }) => severity === 'problem')).toEqual([])
  expect(report).toMatchObject({ tables })
  return catalog
}

/** Makes a table whose rows lie at a given location. */
async function placed(catalog: LocalCatalog, id: string[], location: string): Promise<void> {
  await catalog.declareTable({ id, location })
  await catalog.insertIntoTable({ id, data })
}

async function counts(catalog: LocalCatalog): Promise<number[]> {
  return Promise.all(names.map(async (name) => Number((await catalog.countTableRows({ id: [name] })).count)))
}

describe.skipIf(missingPostgres)('a copy that gets a content of its own', () => {
  test('is a catalog of its own: neither touches the rows of the other', async () => {
    const source = await original(fill)
    const { url } = await templateOf(source)
    const before = await filesIn(source.rows)
    const place = await freshPlace()
    const open = closedAfterwards(await openCatalog(url))
    const report = await adoptContent(url, place.content)
    expect(report).toMatchObject({ content: place.content, tables: 3, elsewhere: 0 })
    // The insert of each table made a fragment and a manifest that are records.
    expect(report.copied).toBe(report.objects - 2 * names.length)
    // Who had it open would read at the wrong place.
    await expect(open.listTables({ id: [] })).rejects.toThrow('Open it again; restart its servers.')
    expect(await filesIn(source.rows)).toEqual(before)
    const copy = await sound(url, 3)
    await copy.dropTable({ id: ['a'] })
    await copy.createTable({ id: ['b'], mode: 'Overwrite', data: [{ y: 1 }] })
    await copy.optimizeTable({ id: ['c'] })
    await copy.vacuum({ graceMillis: 0 })
    expect(await filesIn(source.rows)).toEqual(before)
    const first = await sound(source.url, 3)
    expect(await counts(first)).toEqual([3, 3, 3])
    await first.dropTable({ id: ['c'] })
    await first.vacuum({ graceMillis: 0 })
    expect(await copy.countTableRows({ id: ['c'] })).toMatchObject({ count: 3 })
    // Doing it again does nothing.
    expect(await adoptContent(url, place.content)).toMatchObject({ objects: 0, copied: 0 })
    await sound(url, 2)
  })

  test('goes on where a run ended, wherever that was', async () => {
    const source = await original(fill)
    const { url } = await templateOf(source)
    const before = await filesIn(source.rows)
    const place = await freshPlace()
    let done = 0
    for (const most of [0, 1, 4, 9]) {
      const stop = new Error('The process was killed.')
      const onProgress = ({ objects }: AdoptReport) => {
        if (objects > most) throw stop
      }
      await expect(adoptContent(url, place.content, { onProgress })).rejects.toBe(stop)
      const copy = closedAfterwards(await openCatalog(url))
      expect(copy.isCopy).toBe(true)
      expect(await counts(copy)).toEqual([3, 3, 3])
      await copy.close()
      const there = (await pathsOf(fileContent(place.rows))).length
      expect(there).toBeGreaterThanOrEqual(done)
      done = there
    }
    expect(done).toBeGreaterThan(4)
    const report = await adoptContent(url, place.content)
    expect(report.copied).toBe(report.objects - 2 * names.length - done)
    expect(await filesIn(source.rows)).toEqual(before)
    expect(await counts(await sound(url, 3))).toEqual([3, 3, 3])
    await sound(source.url, 3)
  })

  test('goes on where a run ended between two steps at the end', async () => {
    const source = await original(fill)
    const place = await freshPlace()
    // The first object of the place was removed, and not put again: a crash in between leaves it so.
    const half = await templateOf(source)
    await cp(source.rows, place.rows, { recursive: true })
    const stop = new Error('The process was killed.')
    const onProgress = () => {
      throw stop
    }
    await expect(adoptContent(half.url, place.content, { onProgress })).rejects.toBe(stop)
    await rm(join(place.rows, 'catalog.json'))
    expect(await adoptContent(half.url, place.content)).toMatchObject({ tables: 3, copied: 0 })
    await sound(half.url, 3)
    // Its place is owned by it already, and its records are not changed yet.
    const copy = await templateOf(source)
    const other = await freshPlace()
    await expect(adoptContent(copy.url, other.content, { onProgress })).rejects.toBe(stop)
    expect(await adoptContent(copy.url, other.content)).toMatchObject({ tables: 3 })
    await sound(copy.url, 3)
  })

  test('takes rows that were copied with the bucket, also where the original is gone', async () => {
    const source = await original(fill)
    const { url } = await templateOf(source)
    const place = await freshPlace()
    await cp(source.rows, place.rows, { recursive: true })
    await rename(source.rows, `${source.rows}-lost`)
    const [missing] = await pathsOf(fileContent(place.rows))
    const kept = join(dirname(place.rows), 'kept')
    await rename(join(place.rows, missing!), kept)
    await expect(adoptContent(url, place.content)).rejects.toMatchObject({
      code: 'InvalidTableState',
      message: expect.stringContaining('Nothing of the catalog was changed.'),
    })
    // It still belongs to the original: nothing was taken.
    expect(await readdir(place.rows)).toContain('catalog.json')
    await rename(kept, join(place.rows, missing!))
    expect(await adoptContent(url, place.content)).toMatchObject({ tables: 3, copied: 0, bytes: 0 })
    expect(await counts(await sound(url, 3))).toEqual([3, 3, 3])
  })

  test('refuses a damaged copy of rows, and leaves all as it was', async () => {
    const source = await original(fill)
    const { url } = await templateOf(source)
    const place = await freshPlace()
    await cp(source.rows, place.rows, { recursive: true })
    const [path] = (await pathsOf(fileContent(place.rows))).filter((one) => one.endsWith('.arrow'))
    const target = fileContent(place.rows)
    const bytes = (await target.get(path!))!
    await target.remove(path!)
    await target.put(path!, bytes.subarray(0, bytes.length - 1))
    await expect(adoptContent(url, place.content)).rejects.toThrow('Its copy was interrupted, perhaps.')
    await rename(source.rows, `${source.rows}-lost`)
    await expect(adoptContent(url, place.content)).rejects.toThrow('cut off')
    await rename(`${source.rows}-lost`, source.rows)
    expect(closedAfterwards(await openCatalog(url)).isCopy).toBe(true)
    await sound(source.url, 3)
  })

  test('names what the original removed since', async () => {
    const source = await original(fill)
    const { url } = await templateOf(source)
    const first = await openCatalog(source.url)
    await first.dropTable({ id: ['b'] })
    await first.close()
    const { content } = await freshPlace()
    await expect(adoptContent(url, content)).rejects.toThrow(/under a backup lease|is missing|are missing/)
    expect(closedAfterwards(await openCatalog(url)).isCopy).toBe(true)
  })

  test('has all that lies in the content: other locations, clones, and what was deregistered', async () => {
    let given = ''
    const source = await original(async (catalog) => {
      await fill(catalog)
      given = (await catalog.describeTable({ id: ['a'] })).location!.replace(/tables\/.*/, 'lake/own')
      await placed(catalog, ['placed'], given)
      await catalog.cloneTable({ id: ['clone'], source: ['b'] })
      await catalog.createTable({ id: ['waits'], data })
      await catalog.createTableTag({ id: ['waits'], tag: 'one', version: 1 })
      await catalog.deregisterTable({ id: ['waits'] })
      await catalog.dropTable({ id: ['b'] })
    })
    const { url } = await templateOf(source)
    const waits = (await pathsOf(fileContent(source.rows))).find((path) => path.includes('_registration/'))!
    const place = await freshPlace()
    await adoptContent(url, place.content)
    await rename(source.rows, `${source.rows}-lost`)
    const copy = closedAfterwards(await openCatalog(url))
    expect((await copy.verify()).findings.filter(({ severity }) => severity === 'problem')).toEqual([])
    expect((await copy.describeTable({ id: ['placed'] })).location).toBe(
      given.replace(source.content, place.content),
    )
    expect(await copy.countTableRows({ id: ['placed'] })).toMatchObject({ count: 2 })
    const location = `${place.content}/${waits.slice(0, waits.indexOf('/_registration'))}`
    await copy.registerTable({ id: ['again'], location })
    expect(await copy.getTableTagVersion({ id: ['again'], tag: 'one' })).toMatchObject({ version: 1 })
    expect(await copy.countTableRows({ id: ['clone'] })).toMatchObject({ count: 3 })
    await copy.dropTable({ id: ['placed'] })
    await placed(copy, ['placed'], given.replace(source.content, place.content))
  })

  test('leaves tables outside of the content to the original', async () => {
    const root = await freshFolder()
    const location = pathToFileURL(join(root, 'shared')).href
    const source = await original(fill)
    const first = await openCatalog(source.url, { locationRoots: [root] })
    await placed(first, ['outside'], location)
    await first.close()
    const { url } = await templateOf(source)
    const before = await filesIn(root)
    expect(await adoptContent(url, (await freshPlace()).content)).toMatchObject({ tables: 4, elsewhere: 1 })
    await expect(openCatalog(url, { locationRoots: [root] })).rejects.toThrow(
      'lies the table outside, which the catalog has from the one that it was copied from',
    )
    const copy = closedAfterwards(await openCatalog(url))
    await copy.dropTable({ id: ['outside'] })
    expect(await filesIn(root)).toEqual(before)
    await copy.close()
    await (await openCatalog(url, { locationRoots: [root] })).close()
    const again = closedAfterwards(await openCatalog(source.url, { locationRoots: [root] }))
    expect(await again.countTableRows({ id: ['outside'] })).toMatchObject({ count: 2 })
  })

  test('gets no place that is the content of a catalog', async () => {
    const source = await original(fill)
    const { url } = await templateOf(source)
    const before = await filesIn(source.rows)
    const alias = join(await freshFolder(), 'alias')
    await symlink(source.rows, alias)
    const other = await original(fill)
    const bare = await freshPlace()
    await mkdir(join(bare.rows, 'tables/x'), { recursive: true })
    await fileContent(bare.rows).put('tables/x/y', new Uint8Array(1))
    const refusals: [string, string][] = [
      [source.content, 'is where the original catalog keeps its rows'],
      [`${source.content}/inside`, 'is where the original catalog keeps its rows'],
      [dirname(source.content), 'is where the original catalog keeps its rows'],
      [pathToFileURL(alias).href, 'is the content of the original catalog by another name'],
      [other.content, 'belongs to another catalog'],
      [bare.content, 'belong to no catalog'],
    ]
    for (const [content, message] of refusals)
      await expect(adoptContent(url, content)).rejects.toThrow(message)
    expect(await filesIn(source.rows)).toEqual(before)
    await sound(source.url, 3)
    await sound(other.url, 3)
  })

  test('must be one, or be said to be one; who has it open then makes no more changes', async () => {
    const source = await original(fill)
    const { content } = await freshPlace()
    await expect(adoptContent(source.url, content)).rejects.toThrow('say so with --is-copy')
    const before = await filesIn(source.rows)
    const open = closedAfterwards(await openCatalog(source.url))
    expect(await adoptContent(source.url, content, { isCopy: true })).toMatchObject({ tables: 3 })
    for (const change of [
      () => open.dropTable({ id: ['a'] }),
      () => open.insertIntoTable({ id: ['a'], data }),
      () => open.transaction((tx) => tx.dropTable({ id: ['a'] })),
    ]) {
      await expect(change()).rejects.toThrow('Open it again; restart its servers.')
    }
    await open.close()
    for (const [path, hash] of Object.entries(before)) {
      expect((await filesIn(source.rows))[path]).toBe(hash)
    }
    await sound(source.url, 3)
  })

  test('gets what the latest run said, when two differ', async () => {
    const source = await original(fill)
    const { url } = await templateOf(source)
    const [one, two] = [await freshPlace(), await freshPlace()]
    let isFirst = true
    const slow = adoptContent(url, one.content, {
      onProgress: () => {
        if (!isFirst) return
        isFirst = false
        // The other one begins while this one copies.
        void fast.catch(() => {})
      },
    })
    const fast = adoptContent(url, two.content)
    const ended = await Promise.allSettled([slow, fast])
    const record = await readRecord(url)
    const winner = ended.findIndex(({ status }) => status === 'fulfilled')
    expect(winner).toBeGreaterThanOrEqual(0)
    expect(record.content).toBe([one, two][winner]!.content)
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await sound(url, 3)
  })
})

async function readRecord(url: string): Promise<CatalogRecord> {
  const store = await openPostgresStore(url)
  const record = await store.read((reader) => reader.get<CatalogRecord>(keys.catalog))
  await store.close()
  return record!
}

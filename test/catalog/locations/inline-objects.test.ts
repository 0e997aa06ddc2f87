import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { CatalogRecord, InlineRecord } from '../../../src/base/store/records.ts'
import { inlineFormat, keys } from '../../../src/base/store/records.ts'
import { performance } from '../../../src/base/time.ts'
import { InlineContent } from '../../../src/catalog/locations/inline-objects.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { coreOf } from '../../../src/tabularium/local-handle.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith, filesIn, pathsOf } from '../../support/contents.ts'
import { fails } from '../../support/refusals.ts'
import { numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']

async function opened() {
  const folder = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(folder))
  const store = await openLmdbStore(folder)
  onTestFinished(() => store.close())
  await catalog.createTable({ id, data: numbered(10) })
  const { location } = await catalog.describeTable({ id })
  return {
    folder,
    catalog,
    store,
    location: location!,
    files: async () => (await filesIn(folder)).filter((path) => path.startsWith('tables/')),
    inline: () =>
      store.read((reader) =>
        Array.from(reader.range({ prefix: keys.inline([]) }), ({ key }) => key.slice(1).join('/')),
      ),
  }
}

describe('small objects of a directory', () => {
  it('are records, and the catalog gets a format that says so', async () => {
    const { catalog, store, files, inline } = await opened()
    const before = await files()
    await catalog.insertIntoTable({ id, data: numbered(5, 10) })
    await catalog.deleteFromTable({ id, predicate: 'n = 3' })
    await catalog.updateTableSchemaMetadata({ id, metadata: { a: 'b' } })
    expect(await files()).toEqual(before)
    const kinds = (await inline()).map((path) => path.split('/').at(-2))
    expect(kinds.sort()).toEqual(['_versions', '_versions', '_versions', 'data', 'deletions'])
    const { v } = await store.read((reader) => reader.get<CatalogRecord>(keys.catalog)!)
    expect(v).toBeGreaterThanOrEqual(inlineFormat)
    expect(await rowsOf(catalog, id)).toEqual(numbered(15).filter(({ n }) => n !== 3))
  })

  it('are files where they are large, or many for one change', async () => {
    const { catalog, files, inline } = await opened()
    const before = (await files()).length
    await catalog.insertIntoTable({ id, data: numbered(10_000) })
    expect((await files()).length).toBe(before + 1)
    expect(await inline()).toHaveLength(1)
  })

  it('go with the versions that name them, and with their table', async () => {
    const { catalog, inline } = await opened()
    for (let n = 0; n < 3; n++) await catalog.insertIntoTable({ id, data: numbered(1, n) })
    await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 4 }] })
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 3 })
    expect(await inline()).toHaveLength(4)
    expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
    await catalog.dropTable({ id })
    expect(await inline()).toEqual([])
  })

  it('move into files when their table leaves, also for another catalog', async () => {
    const { folder, catalog, location, inline } = await opened()
    for (let n = 0; n < 4; n++) await catalog.insertIntoTable({ id, data: numbered(1, 10 + n) })
    await catalog.deregisterTable({ id })
    expect(await inline()).toEqual([])
    const other = closedAfterwards(await openCatalog(await freshFolder(), { locationRoots: [folder] }))
    await other.registerTable({ id: ['came'], location })
    expect(await rowsOf(other, ['came'])).toEqual(numbered(14))
    expect(await rowsOf(other, ['came'], { version: 2 })).toEqual(numbered(11))
    await other.insertIntoTable({ id: ['came'], data: numbered(1, 14) })
    expect(await rowsOf(other, ['came'])).toEqual(numbered(15))
  })

  it('stay for a clone when their table leaves', async () => {
    const { catalog, location } = await opened()
    await catalog.insertIntoTable({ id, data: numbered(4, 10) })
    await catalog.cloneTable({ id: ['clone'], source: id })
    await catalog.deregisterTable({ id })
    expect(await rowsOf(catalog, ['clone'])).toEqual(numbered(14))
    await catalog.registerTable({ id, location })
    await catalog.insertIntoTable({ id, data: numbered(1, 14) })
    expect(await rowsOf(catalog, id)).toEqual(numbered(15))
  })

  it('that only a lost race wrote are not recorded', async () => {
    const { folder, catalog } = await opened()
    const other = closedAfterwards(await openCatalog(folder))
    const insert = (n: number) => (n % 2 ? catalog : other).insertIntoTable({ id, data: numbered(1, n) })
    await Promise.all(Array.from({ length: 30 }, (_, n) => insert(n)))
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
    expect(await catalog.countTableRows({ id })).toMatchObject({ count: 40 })
    for (const { version } of (await catalog.listTableVersions({ id })).versions)
      expect(await rowsOf(catalog, id, { version })).toHaveLength(9 + version)
    expect(await other.verify()).toMatchObject({ ok: true, findings: [] })
  })

  it('come with a backup, and with a restored one', async () => {
    const { catalog } = await opened()
    await catalog.insertIntoTable({ id, data: numbered(5, 10) })
    const target = `${await freshFolder()}/copy`
    await catalog.backup(target)
    await catalog.dropTable({ id })
    const copy = closedAfterwards(await openCatalog(target))
    expect(await rowsOf(copy, id)).toEqual(numbered(15))
    expect(await copy.verify()).toMatchObject({ ok: true, findings: [] })
  })

  it('of a transaction are committed with it, or never', async () => {
    const { catalog, files, inline } = await opened()
    const before = await files()
    const given = catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id, data: numbered(3, 10) })
      expect(await rowsOf(tx, id)).toEqual(numbered(13))
      throw new RangeError('no')
    })
    await expect(given).rejects.toThrow(RangeError)
    expect([await files(), await inline()]).toEqual([before, []])
    await catalog.transaction(async (tx) => {
      for (let n = 10; n < 20; n++) await tx.insertIntoTable({ id, data: numbered(1, n) })
      expect(await rowsOf(tx, id)).toEqual(numbered(20))
      expect(await inline()).toEqual([])
    })
    expect(await files()).toEqual(before)
    expect(await rowsOf(catalog, id)).toEqual(numbered(20))
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
    expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
  })

  it('of a transaction are those of the last attempt where others commit meanwhile', async () => {
    const { folder, catalog } = await opened()
    const other = closedAfterwards(await openCatalog(folder))
    await catalog.transaction(async (tx) => {
      for (let n = 10; n < 20; n++) {
        await tx.insertIntoTable({ id, data: numbered(1, n) })
        if (n % 3 === 0) await other.insertIntoTable({ id, data: numbered(1, 10 + n) })
      }
    })
    const rows = await rowsOf(catalog, id)
    expect(rows.map(({ n }) => Number(n)).sort((a, b) => a - b)).toEqual([
      ...numbered(20).map(({ n }) => n),
      ...[22, 25, 28],
    ])
    expect(await rowsOf(other, id)).toEqual(rows)
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
    expect(await other.verify()).toMatchObject({ ok: true, findings: [] })
  })

  it.each(['drop', 'deregister'] as const)('of a transaction outlive a %s in it for a clone', async (end) => {
    const { catalog } = await opened()
    await catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id, data: numbered(2, 10) })
      await tx.cloneTable({ id: ['clone'], source: id })
      await (end === 'drop' ? tx.dropTable({ id }) : tx.deregisterTable({ id }))
    })
    expect(await rowsOf(catalog, ['clone'])).toEqual(numbered(12))
    expect(await catalog.verify()).toMatchObject({ ok: true })
  })

  it('of a transaction are files where it deregisters the table', async () => {
    const { folder, catalog, location, inline } = await opened()
    await catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id, data: numbered(2, 10) })
      await tx.deregisterTable({ id })
    })
    expect(await inline()).toEqual([])
    const other = closedAfterwards(await openCatalog(await freshFolder(), { locationRoots: [folder] }))
    await other.registerTable({ id: ['came'], location })
    expect(await rowsOf(other, ['came'])).toEqual(numbered(12))
  })
})

it.each([
  ['fragment', '/data/'],
  ['manifest', '/_versions/'],
])('a table leaves with a damaged small %s, which is found afterwards as before', async (_, kind) => {
  const { folder, catalog, store, location, inline } = await opened()
  await catalog.insertIntoTable({ id, data: numbered(5, 10) })
  const path = (await inline()).find((path) => path.includes(kind))!
  const key = keys.inline(path.split('/'))
  await store.write((writer) => {
    const record = writer.get<InlineRecord>(key)!
    writer.put(key, { ...record, deflated: record.deflated.slice(0, 8) })
  })
  const damaged = { ok: false, problems: 1, findings: [{ message: expect.stringContaining(path) }] }
  expect(await catalog.verify()).toMatchObject(damaged)
  await catalog.deregisterTable({ id })
  expect(await inline()).toEqual([])
  const other = closedAfterwards(await openCatalog(await freshFolder(), { locationRoots: [folder] }))
  await other.registerTable({ id, location })
  expect(await other.verify()).toMatchObject(damaged)
  await fails(rowsOf(other, id), 'InvalidTableState')
  expect(await other.countTableRows({ id, version: 1 })).toEqual({ count: 10 })
})

it('a backup refuses a small object that moved into a file and is missing', async () => {
  const { folder, catalog, location, files } = await opened()
  await catalog.insertIntoTable({ id, data: numbered(5, 10) })
  await catalog.deregisterTable({ id })
  await catalog.registerTable({ id, location })
  await catalog.backup(`${await freshFolder()}/copy`)
  const lost = (await files()).find((path) => path.endsWith('.inline.arrow'))!
  await rm(join(folder, lost))
  const refused = { code: 'InvalidTableState', message: expect.stringContaining(`${lost}" is missing`) }
  await expect(catalog.backup(`${await freshFolder()}/copy`)).rejects.toMatchObject(refused)
})

it('a commit records the small objects that its manifests name, alone or by a segment', async () => {
  const store = memoryStore()
  const content = new InlineContent(memoryContent(), store)
  const objects = content.objectsOfChange(Date.now)
  const put = (path: string, ...named: string[]) =>
    objects.put(`tables/a/${path}`, Buffer.from(JSON.stringify(named.map((path) => ({ path, size: 1 })))))
  put('data/1.inline.arrow')
  // Its name ends in another one.
  put('data/11.inline.arrow')
  put('data/2.inline.arrow')
  put('deletions/3.inline.arrow')
  put('data/4.inline.arrow')
  put('_versions/segments/5.inline.json', 'data/2.inline.arrow', 'deletions/3.inline.arrow')
  put('_versions/1-6.inline.json', 'data/11.inline.arrow', '_versions/segments/5.inline.json')
  put('_versions/1-7.inline.json', 'data/4.inline.arrow')
  await store.write((writer) => objects.record(writer, ['tables/a/_versions/1-6.inline.json']))
  objects.release()
  expect(await pathsOf(content)).toEqual(
    [
      '_versions/1-6.inline.json',
      '_versions/segments/5.inline.json',
      'data/11.inline.arrow',
      'data/2.inline.arrow',
      'deletions/3.inline.arrow',
    ].map((path) => `tables/a/${path}`),
  )
})

describe('many inline objects', () => {
  const path = (n: number) => `tables/a/data/${String(n).padStart(5, '0')}.inline.arrow`

  async function filled(count: number) {
    const store = await openLmdbStore(await freshFolder())
    onTestFinished(() => store.close())
    const below = memoryContent()
    const content = new InlineContent(below, store)
    const add = async (first: number, last: number) => {
      const objects = content.objectsOfChange(Date.now)
      for (let n = first; n < last; n++) objects.put(path(n), new Uint8Array(1_000).fill(n))
      await store.write((writer) => objects.record(writer, ['none']))
      objects.release()
    }
    await add(0, count)
    return { content, below, store, add }
  }

  /** How many turns of the event loop some work takes when each look at the clock finds that much time has gone. */
  async function turnsOf(work: () => Promise<unknown>): Promise<number> {
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 100))
    onTestFinished(() => clock.mockRestore())
    let turns = 0
    let next = setImmediate(function turn() {
      turns++
      next = setImmediate(turn)
    })
    await work()
    clearImmediate(next)
    clock.mockRestore()
    return turns
  }

  it('leave turns of the event loop to others while they are listed, read and removed', async () => {
    const count = 2_000
    const { content } = await filled(count)
    let listed = 0
    const list = async () => {
      for await (const _ of content.list('tables/')) listed++
    }
    expect(await turnsOf(list)).toBeGreaterThan(5)
    expect(listed).toBe(count)
    const read = async () => {
      for (let n = 0; n < count; n++) expect((await content.get(path(n)))!.length).toBe(1_000)
    }
    expect(await turnsOf(read)).toBeGreaterThan(5)
    await content.remove('tables/a/')
    await list()
    expect(listed).toBe(count)
  })

  it('are removed several at once by a vacuum', async () => {
    const { catalog } = await opened()
    for (let n = 0; n < 40; n++) await catalog.insertIntoTable({ id, data: numbered(1, n) })
    await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 41 }] })
    const core = coreOf(catalog)
    const write = core.store.write.bind(core.store)
    let now = 0
    let most = 0
    core.store.write = async (body) => {
      most = Math.max(most, ++now)
      return write(body).finally(() => now--)
    }
    expect((await catalog.vacuum({ graceMillis: 0 })).removed).toBeGreaterThan(40)
    expect(most).toBeGreaterThan(8)
  })

  it('are copied into files once, although their table changes meanwhile', async () => {
    const { content, below, add } = await filled(20)
    let puts = 0
    const counting = content.over(
      contentWith(below, {
        put: (path, bytes) => {
          puts++
          return below.put(path, bytes)
        },
      }),
    )
    const copied = new Set<string>()
    await counting.copyToFiles('tables/a/', copied)
    await add(20, 25)
    await counting.copyToFiles('tables/a/', copied)
    expect(puts).toBe(25)
    for (let n = 0; n < 25; n++) expect(await below.get(path(n))).toEqual(new Uint8Array(1_000).fill(n))
  })
})

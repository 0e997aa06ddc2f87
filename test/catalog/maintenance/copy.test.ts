import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { CatalogError, copyCatalog, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { Child } from '../../processes/child-process.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith, pathsOf } from '../../support/contents.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { fails } from '../../support/refusals.ts'
import { numbered } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { filled, told } from './filled.ts'

// Copies go between a directory, a database and a process of their own.
limitEach(60)

const report = { namespaces: 1, tables: 5, versions: 10, withoutRows: [['far']] }

/** A catalog in a folder of its own. */
async function onDisk(options = {}): Promise<{ folder: string; catalog: LocalCatalog }> {
  const folder = await freshFolder()
  return { folder, catalog: closedAfterwards(await openCatalog(folder, options)) }
}

test('a copy holds what the catalog held, with its history, and goes on from there', async () => {
  const source = await filled()
  const { folder, catalog: target } = await onDisk()
  const seen: number[] = []
  expect(await copyCatalog(source, target, { onProgress: ({ tables }) => seen.push(tables) })).toMatchObject(
    report,
  )
  expect(seen).toEqual([1, 2, 3, 4, 5])
  expect(await told(target)).toEqual(await told(source))
  expect(await target.verify()).toMatchObject({ ok: true, findings: [] })
  await target.insertIntoTable({ id: ['prod', 'flights'], data: numbered(1) })
  const other = join(await freshFolder(), 'new')
  const content = pathToFileURL(await freshFolder()).href
  expect(await copyCatalog(folder, other, { content })).toMatchObject({ tables: 5 })
  expect(await readdir(other)).not.toContain('tables')
  const last = closedAfterwards(await openCatalog(other))
  expect(await told(last)).toEqual(await told(target))
})

test('a target that holds something is refused, be it before the copy or meanwhile, and stays as it was', async () => {
  const source = await filled()
  const { catalog: target } = await onDisk()
  await target.createNamespace({ id: ['n'] })
  await fails(copyCatalog(source, target), 'InvalidInput', /not empty/)
  await fails(copyCatalog(source, source), 'InvalidInput', /not empty/)
  await target.dropNamespace({ id: ['n'] })
  const begun = { tables: 0 }
  const copying = copyCatalog(source, target, {
    onProgress: () => {
      begun.tables++
    },
  })
  copying.catch(() => {})
  while (begun.tables === 0) await new Promise((resolve) => setImmediate(resolve))
  await target.declareTable({ id: ['mine'] })
  // It may have committed just before; then the declaration found a catalog that is there.
  await copying.then(
    async () => expect((await target.listTables({ id: [], include_declared: true })).tables).toHaveLength(6),
    async (error) => {
      expect(error).toMatchObject({ code: 'InvalidInput' })
      expect((await target.listTables({ id: [], include_declared: true })).tables).toEqual(['mine'])
    },
  )
})

test('it is of one moment, and leaves nothing of a copy that was stopped', async () => {
  const source = await filled()
  const { catalog: target } = await onDisk()
  const before = await told(source)
  let copied: unknown
  const stop = new AbortController()
  const stopped = copyCatalog(source, target, { signal: stop.signal, onProgress: () => stop.abort() })
  await expect(stopped).rejects.toThrow('aborted')
  expect((await target.listNamespaces({ id: [] })).namespaces).toEqual([])
  expect((await target.vacuum({ graceMillis: 0 })).removed).toBe(0)
  await copyCatalog(source, target, {
    onProgress: () => {
      copied ??= source.dropTable({ id: ['prod', 'flights'] })
    },
  })
  await copied
  expect(await told(target)).toEqual(before)
})

test('one that fails since the content is away asks it once more, and not for each table', async () => {
  const source = await filled()
  const content = memoryContent()
  let asked = 0
  const away = async (): Promise<never> => {
    asked++
    throw new CatalogError('ServiceUnavailable', 'The content is away.')
  }
  let isAway = false
  const flaky = contentWith(content, {
    put: (path, bytes) => (isAway ? away() : content.put(path, bytes)),
    remove: (path) => (isAway ? away() : content.remove(path)),
  })
  await using target = await openCatalog({ store: memoryStore(), content: flaky })
  const onProgress = ({ tables }: { readonly tables: number }) => {
    isAway = tables === 4
  }
  await fails(copyCatalog(source, target, { onProgress }), 'ServiceUnavailable', 'The content is away.')
  expect(asked).toBe(2)
  isAway = false
  await target.vacuum({ graceMillis: 0 })
  expect(await pathsOf(content)).toEqual([])
})

test('what another engine wrote stays where it lies, and is named', async () => {
  const { folder, catalog: source } = await onDisk()
  const { location } = await source.declareTable({ id: ['lance'] })
  const rows = join(fileURLToPath(location!), 'data')
  await mkdir(rows, { recursive: true })
  await writeFile(join(rows, 'x.lance'), 'rows of another engine')
  const { catalog: target } = await onDisk()
  expect(await copyCatalog(folder, target)).toMatchObject({ tables: 1, withoutRows: [['lance']] })
  expect((await target.describeTable({ id: ['lance'] })).location).toBe(location)
})

test('catalogs behind a server cannot be copied so', async () => {
  const far = connect('http://127.0.0.1:1') as unknown as LocalCatalog
  await fails(copyCatalog(far, await filled()), 'Unsupported', /in this process/)
})

describe.skipIf(missingPostgres)('between a directory and a database', () => {
  test('a copy goes both ways, and one that was killed is done again', async () => {
    const { folder, catalog: source } = await onDisk()
    await copyCatalog(await filled(), source)
    // Long enough to be killed before its end.
    for (let n = 0; n < 30; n++) await source.createTable({ id: [`t${n}`], data: numbered(1_000) })
    const database = await (await sharedServer()).freshUrl()
    const rows = await freshFolder()
    const content = pathToFileURL(rows).href
    const child = new Child('src/cli/index.ts', ['copy', folder, database, '--content', content])
    const written = async () => (await readdir(rows, { recursive: true })).length
    await expect.poll(written, { interval: 1 }).toBeGreaterThanOrEqual(20)
    await child.kill()
    const target = closedAfterwards(await openCatalog(database as `postgres://${string}`))
    expect((await target.listTables({ id: [], include_declared: true })).tables).toEqual([])
    expect((await target.listNamespaces({ id: [] })).namespaces).toEqual([])
    expect(await copyCatalog(folder, database, { content })).toMatchObject({ tables: 35 })
    expect(await told(target)).toEqual(await told(source))
    expect((await target.verify()).ok).toBe(true)
    const back = await onDisk()
    await copyCatalog(target, back.catalog)
    expect(await told(back.catalog)).toEqual(await told(source))
  })
})

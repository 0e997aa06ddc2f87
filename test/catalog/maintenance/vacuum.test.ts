import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, stoppedClock } from '../../support/catalogs.ts'
import { contentWith, eachContent, pathOf, pathsOf } from '../../support/contents.ts'
import { tablesOf } from '../../support/inspect.ts'
import { fails } from '../../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']
const now = { graceMillis: 0 }

eachContent((open) => {
  describe('vacuum', () => {
    it('removes what a crash left behind, and tells what', async () => {
      const { catalog, content } = await open()
      const { location } = await catalog.createTable({ id, data: numbered(3) })
      const before = await pathsOf(content)
      const orphans = [
        `${pathOf(location)}_versions/0000000002-0mwoygrux-97b4d4f7327979e8.json`,
        `${pathOf(location)}data/0mwoygrsm-78dbeef5ac59f90d.arrow`,
        'tables/01M7WD23HXSQAFYYJM8CKKHQT4/data/lost.arrow',
      ]
      for (const path of orphans) await content.put(path, new Uint8Array(100))
      const seen: number[] = []
      expect(await catalog.vacuum({ ...now, onProgress: ({ removed }) => seen.push(removed) })).toEqual({
        examined: before.length + 3,
        removed: 3,
        bytes: 300,
      })
      expect(seen).toEqual([1, 2, 3])
      expect(await pathsOf(content)).toEqual(before)
      expect(await rowsOf(catalog, id)).toEqual(numbered(3))
      expect(await catalog.vacuum(now)).toMatchObject({ removed: 0, bytes: 0 })
    })

    it('removes what work that was stopped had written', async () => {
      const { catalog, content } = await open()
      await catalog.createTable({ id, data: numbered(1) })
      const before = await pathsOf(content)
      const abort = new AbortController()
      const stopped = catalog.insertIntoTable(
        { id, data: numbered(50_000) },
        {
          signal: abort.signal,
          onProgress: ({ rows, total }) => rows > 0 && rows === total && abort.abort(),
        },
      )
      await expect(stopped).rejects.toThrow('abort')
      expect((await pathsOf(content)).length).toBeGreaterThan(before.length)
      await catalog.vacuum(now)
      expect(await pathsOf(content)).toEqual(before)
      expect(await rowsOf(catalog, id)).toEqual(numbered(1))
    })

    it('removes what only deleted versions needed', async () => {
      const { catalog, content } = await open()
      await catalog.createTable({ id, data: numbered(10) })
      await catalog.insertIntoTable({ id, data: numbered(10), mode: 'Overwrite' })
      await catalog.insertIntoTable({ id, data: numbered(5, 10) })
      const before = (await pathsOf(content)).length
      expect(await catalog.vacuum(now)).toMatchObject({ removed: 0 })
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 2 }] })
      expect((await catalog.vacuum(now)).removed).toBeGreaterThanOrEqual(2)
      expect((await pathsOf(content)).length).toBeLessThan(before)
      expect((await rowsOf(catalog, id)).length).toBe(15)
      expect((await rowsOf(catalog, id, { version: 2 })).length).toBe(10)
    })

    it('only tells what would go when it is asked to', async () => {
      const { catalog, content } = await open()
      await content.put('tables/lost/data', new Uint8Array(7))
      expect(await catalog.vacuum({ ...now, dryRun: true })).toEqual({ examined: 1, removed: 1, bytes: 7 })
      expect(await pathsOf(content)).toEqual(['tables/lost/data'])
    })

    it('leaves alone what is younger than the grace period, an hour unless told otherwise', async () => {
      const { catalog, content } = await open()
      await content.put('tables/lost/data', new Uint8Array(7))
      for (const options of [undefined, {}, { graceMillis: 60_000 }]) {
        expect(await catalog.vacuum(options)).toEqual({ examined: 1, removed: 0, bytes: 0 })
      }
      for (const graceMillis of [-1, Number.NaN, 'x' as never]) {
        await fails(catalog.vacuum({ graceMillis }), 'InvalidInput', 'graceMillis must be')
      }
      expect(await pathsOf(content)).toHaveLength(1)
    })

    it('keeps the content of a table that was deregistered, and lets go of it once it was dropped', async () => {
      const { catalog, content } = await open()
      await catalog.createTable({ id, data: numbered(4) })
      await catalog.insertIntoTable({ id, data: numbered(1) })
      const { location } = await catalog.deregisterTable({ id })
      const kept = await pathsOf(content)
      expect(await catalog.vacuum(now)).toMatchObject({ removed: 0 })
      expect(await pathsOf(content)).toEqual(kept)
      await catalog.registerTable({ id: ['u'], location })
      await catalog.vacuum(now)
      expect(await countOf(catalog, ['u'])).toBe((await rowsOf(catalog, ['u'])).length)
      expect(await rowsOf(catalog, ['u'], { version: 1 })).toEqual(numbered(4))
      await catalog.dropTable({ id: ['u'] })
      await catalog.vacuum(now)
      expect(await pathsOf(content)).toEqual([])
    })

    it('keeps what lies where a table was declared: somebody else may be writing it', async () => {
      const { catalog, content } = await open()
      const { location } = await catalog.declareTable({ id })
      await content.put(`${pathOf(location)}data/theirs.lance`, new Uint8Array(7))
      await catalog.declareTable({ id: ['client'] })
      const client = await catalog.describeTable({ id: ['client'] })
      await catalog.createTableVersion({ id: ['client'], version: 1, manifest_path: 'm' })
      await content.put(`${pathOf(client.location)}data/theirs.lance`, new Uint8Array(7))
      expect(await catalog.vacuum(now)).toEqual({ examined: 2, removed: 0, bytes: 0 })
    })

    it('stops when it is told to', async () => {
      const { catalog, content } = await open()
      for (let n = 0; n < 100; n++) await content.put(`tables/${n}/data`, new Uint8Array(1))
      const reason = new Error('enough')
      const abort = new AbortController()
      const stopped = catalog.vacuum({ ...now, signal: abort.signal, onProgress: () => abort.abort(reason) })
      await expect(stopped).rejects.toBe(reason)
      // Some are removed at once.
      expect((await pathsOf(content)).length).toBeGreaterThan(50)
    })
  })

  it('after any history a vacuum leaves every version of every table readable', async () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const branch = fc.constantFrom('main', 'dev')
    const step = fc.oneof(
      fc.record({ do: fc.constant('create' as const), name, rows: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ do: fc.constant('insert' as const), name, branch, rows: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ do: fc.constant('overwrite' as const), name, branch }),
      fc.record({ do: fc.constant('delete' as const), name, branch, rest: fc.nat(3) }),
      fc.record({ do: fc.constant('restore' as const), name, version: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ do: fc.constant('branch' as const), name }),
      fc.record({ do: fc.constant('forget' as const), name, version: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ do: fc.constant('move' as const), name, to: name }),
      fc.record({ do: fc.constant('away and back' as const), name, to: name }),
      fc.record({ do: fc.constant('drop' as const), name }),
      fc.record({ do: fc.constant('vacuum' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const { catalog, content } = await open({ cacheBytes: 0 })
        for (const given of steps) await take(catalog, given).catch(expectRefusal)
        const before = await everything(catalog)
        await catalog.vacuum(now)
        expect(await everything(catalog)).toEqual(before)
        for (const table of await tablesOf(catalog)) await catalog.dropTable({ id: [table] })
        await catalog.vacuum(now)
        expect(await pathsOf(content)).toEqual([])
        await catalog.close()
      }),
      { numRuns: 12 },
    )

    type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

    async function take(catalog: LocalCatalog, given: Step): Promise<unknown> {
      if (given.do === 'vacuum') return catalog.vacuum(now)
      const id = [given.name]
      switch (given.do) {
        case 'create':
          return catalog.createTable({ id, data: numbered(given.rows) })
        case 'insert':
          return catalog.insertIntoTable({ id, branch: given.branch, data: numbered(given.rows) })
        case 'overwrite':
          return catalog.insertIntoTable({ id, branch: given.branch, data: numbered(2), mode: 'Overwrite' })
        case 'delete':
          return catalog.deleteFromTable({ id, branch: given.branch, predicate: `n % 4 = ${given.rest}` })
        case 'restore':
          return catalog.restoreTable({ id, version: given.version })
        case 'branch':
          return catalog.createTableBranch({ id, name: 'dev' })
        case 'forget':
          return catalog.batchDeleteTableVersions({
            id,
            ranges: [{ start_version: given.version, end_version: given.version + 1 }],
          })
        case 'move':
          return catalog.renameTable({ id, new_table_name: given.to })
        case 'away and back': {
          const { location } = await catalog.deregisterTable({ id })
          await catalog.vacuum(now)
          return catalog
            .registerTable({ id: [given.to], location })
            .catch(() => catalog.registerTable({ id, location }))
        }
        case 'drop':
          return catalog.dropTable({ id })
      }
    }
  })
})

describe('the dates of objects', () => {
  const hour = 3_600_000
  /** A catalog whose content dates objects as its service would. */
  async function dated(dates: Readonly<Record<string, (moment: number) => number>>) {
    const clock = stoppedClock()
    const content = memoryContent()
    const opened = await openCatalog({
      store: memoryStore(),
      now: clock,
      content: contentWith(content, {
        async *list(prefix) {
          for await (const found of content.list(prefix))
            yield { ...found, modified: dates[found.path]?.(clock()) ?? 0 }
        },
      }),
    })
    for (const path of Object.keys(dates)) await content.put(path, new Uint8Array(1))
    return { catalog: closedAfterwards(opened), content }
  }

  it('a grace period of zero spares nothing for its date', async () => {
    const { catalog, content } = await dated({
      'tables/a/then': (moment) => moment - 1,
      'tables/a/now': (moment) => moment,
      'tables/a/late in this millisecond': (moment) => moment + 0.7,
      'tables/a/by a clock that is ahead': (moment) => moment + hour,
    })
    expect(await catalog.vacuum(now)).toEqual({ examined: 4, removed: 4, bytes: 4 })
    expect(await pathsOf(content)).toEqual([])
  })

  it('what may be written since an open transaction began is spared, by a clock that is behind, too', async () => {
    const { catalog, content } = await dated({
      'tables/a/long before': (moment) => moment - hour,
      'tables/a/by a clock that is behind': (moment) => moment - 30_000,
      'tables/a/since': (moment) => moment,
    })
    await catalog.transaction(async (tx) => {
      await tx.declareTable({ id })
      await catalog.vacuum(now)
    })
    expect(await pathsOf(content)).toHaveLength(2)
    await catalog.vacuum(now)
    expect(await pathsOf(content)).toEqual([])
  })
})

describe('a vacuum that a drop overtakes', () => {
  it('leaves a location that another process is emptying to that process', async () => {
    const store = memoryStore()
    const content = memoryContent()
    const catalog = await openCatalog({ store, content })
    for (const name of ['gone', 'kept']) await catalog.createTable({ id: [name], data: numbered(3) })
    let drop = async () => {
      drop = async () => {}
      await catalog.dropTable({ id: ['gone'] })
    }
    const other = await openCatalog({
      store,
      content: contentWith(content, {
        async get(path, range) {
          // When the vacuum comes to look which objects the manifest needs.
          await drop()
          return content.get(path, range)
        },
      }),
    })
    expect(await other.vacuum(now)).toMatchObject({ removed: 0 })
    expect(await tablesOf(catalog)).toEqual(['kept'])
    expect(await rowsOf(catalog, ['kept'])).toEqual(numbered(3))
  })
})

describe('a vacuum without a grace period, beside others', () => {
  it('spares what is being deregistered', async () => {
    const store = memoryStore()
    const content = memoryContent()
    const other = await openCatalog({ store, content })
    let vacuums = 0
    const catalog = await openCatalog({
      store,
      content: contentWith(content, {
        async put(path, bytes) {
          await content.put(path, bytes)
          if (path.includes('_registration/') && vacuums++ < 3) await other.vacuum(now)
        },
      }),
    })
    await catalog.createTable({ id, data: numbered(3) })
    const { location } = await catalog.deregisterTable({ id })
    expect(vacuums).toBeGreaterThan(3)
    await catalog.registerTable({ id, location })
    expect(await rowsOf(catalog, id)).toEqual(numbered(3))
  })

  it('spares what was written before its transaction was recorded', async () => {
    const store = memoryStore()
    const content = memoryContent()
    let turn: Promise<unknown> = Promise.resolve()
    const late: Store = {
      features: store.features,
      read: (body) => store.read(body),
      write: (body) => turn.then(() => store.write(body)),
      close: () => store.close(),
    }
    const catalog = await openCatalog({ store: late, content })
    await catalog.createTable({ id, data: numbered(3) })
    const before = (await pathsOf(content)).length

    let go = () => {}
    turn = new Promise<void>((resolve) => {
      go = resolve
    })
    const inserted = catalog.insertIntoTable({ id, data: numbered(2, 3) })
    await expect.poll(async () => (await pathsOf(content)).length).toBeGreaterThanOrEqual(before + 2)
    let listings = 0
    const other = await openCatalog({
      store,
      content: contentWith(content, {
        async *list(prefix) {
          // The second is for what is registered, after the tables were looked at.
          if (++listings === 2) {
            go()
            await inserted
          }
          yield* content.list(prefix)
        },
      }),
    })
    await other.vacuum(now)
    expect(listings).toBe(2)
    expect(await rowsOf(catalog, id)).toEqual(numbered(5))
  })
})

describe('a vacuum beside work, when the clock steps', () => {
  const hours = (count: number) => count * 3_600_000

  /** Two handles on one catalog, with one clock. `meanwhile` runs once, after the next object was written. */
  async function opened() {
    const clock = stoppedClock()
    const store = memoryStore()
    const kept = memoryContent(clock)
    let meanwhile: (() => Promise<unknown>) | undefined
    const content = contentWith(kept, {
      async put(...given) {
        await kept.put(...given)
        const run = meanwhile
        meanwhile = undefined
        await run?.()
      },
    })
    const handle = async (of: Content) =>
      closedAfterwards(await openCatalog({ store, content: of, now: clock, root: 's3://bucket' }))
    const catalog = await handle(content)
    const other = await handle(kept)
    const during = (run: () => Promise<unknown>) => {
      meanwhile = run
    }
    return { clock, catalog, other, during }
  }

  it.each(['this', 'another'])('a lease that ended for a vacuum has ended: %s handle', async (which) => {
    const { clock, catalog, other, during } = await opened()
    await catalog.createTable({ id, data: numbered(3) })
    during(async () => {
      clock.move(hours(2))
      await (which === 'this' ? catalog : other).vacuum()
      clock.move(hours(-2))
    })
    const started: string[] = []
    const inserted = catalog.insertIntoTable(
      { id, data: numbered(2, 3) },
      { onProgress: ({ transaction_id }) => started.push(transaction_id!) },
    )
    await fails(inserted, 'ConcurrentModification', 'is Failed and can no longer commit')
    const told = await other.describeTransaction({ id: [started[0]!] })
    expect(told).toMatchObject({ status: 'Failed', properties: { failure_code: 'ServiceUnavailable' } })
    expect(await rowsOf(other, id)).toEqual(numbered(3))
    expect(await other.verify()).toMatchObject({ problems: 0 })
    await catalog.insertIntoTable({ id, data: numbered(2, 3) })
    expect(await rowsOf(other, id)).toEqual(numbered(5))
  })

  it('spares what work under way wrote, whatever the clock said then', async () => {
    const { clock, catalog, other, during } = await opened()
    await catalog.createTable({ id, data: numbered(3) })
    clock.move(hours(10))
    for (const create of [false, true]) {
      during(async () => {
        // The next objects, the manifest among them, look as old as a leftover.
        clock.move(hours(-3))
        during(async () => {
          clock.move(hours(3))
          await other.vacuum()
        })
      })
      if (create) await catalog.createTable({ id: ['new'], data: numbered(3) })
      else await catalog.insertIntoTable({ id, data: numbered(2, 3) })
    }
    expect(await rowsOf(other, id)).toEqual(numbered(5))
    expect(await rowsOf(other, ['new'])).toEqual(numbered(3))
    expect(await other.verify()).toMatchObject({ problems: 0 })
  })

  it('removes what such work left behind, once it has ended', async () => {
    const { clock, catalog, other, during } = await opened()
    await catalog.createTable({ id, data: numbered(3) })
    during(async () => {
      throw new Error('the disk broke')
    })
    await expect(catalog.insertIntoTable({ id, data: numbered(2, 3) })).rejects.toThrow()
    expect(await other.vacuum()).toMatchObject({ removed: 0 })
    clock.move(hours(2))
    expect(await other.vacuum()).toMatchObject({ removed: 1 })
  })

  it('keeps the registration of a table that is being deregistered', async () => {
    const { clock, catalog, other, during } = await opened()
    await catalog.createTable({ id, data: numbered(3) })
    during(async () => {
      clock.move(hours(2))
      await other.vacuum()
      clock.move(hours(-2))
    })
    const { location } = await catalog.deregisterTable({ id })
    await other.registerTable({ id, location })
    expect(await rowsOf(other, id)).toEqual(numbered(3))
  })
})

function expectRefusal(error: unknown): void {
  expect(error).toMatchObject({
    code: expect.stringMatching(/NotFound|AlreadyExists|InvalidTableState/),
  })
}

/** The rows of every version of every branch of every table. */
async function everything(catalog: LocalCatalog) {
  const found: Record<string, unknown> = {}
  for (const table of await tablesOf(catalog)) {
    const id = [table]
    const { branches } = await catalog.listTableBranches({ id })
    for (const branch of ['main', ...Object.keys(branches)]) {
      const { versions } = await catalog.listTableVersions({ id, branch })
      for (const { version } of versions) {
        found[`${table} ${branch} ${version}`] = await rowsOf(catalog, id, { branch, version })
      }
    }
  }
  return found
}

describe('vacuum beside an upload', () => {
  it('aborts it only once the work is over that it belongs to, however long ago it was begun', async () => {
    const objects = memoryContent()
    const unfinished = 'tables/x/data/.00000000-0000-4000-8000-000000000000.partial'
    let upload: string | undefined
    let begin = () => {}
    let goOn = (_?: Error) => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const uploading = new Promise<void>((resolve, reject) => {
      goOn = (error) => (error ? reject(error) : resolve())
    })
    const content = contentWith(objects, {
      url: objects.url,
      put: async (path, bytes) => {
        if (upload === undefined && path.includes('/data/')) {
          upload = path
          begin()
          await uploading
        }
        return objects.put(path, bytes)
      },
      async *list(prefix) {
        yield* objects.list(prefix)
        if (upload !== undefined) yield { path: unfinished, size: 0, modified: 0, becomes: upload }
      },
      remove: async (path) => {
        if (path === unfinished) upload = undefined
        else await objects.remove(path)
      },
    })
    const catalog = await openCatalog({ store: memoryStore(), content })
    closedAfterwards(catalog)
    await catalog.declareTable({ id })
    const inserted = catalog.insertIntoTable({ id, data: numbered(3) }, { onProgress: () => {} })
    const failed = expect(inserted).rejects.toMatchObject({ cause: { message: 'the service is gone' } })
    await begun
    expect(await catalog.vacuum(now)).toMatchObject({ removed: 0 })
    expect(upload).toBeDefined()
    goOn(new Error('the service is gone'))
    await failed
    expect(await catalog.vacuum(now)).toMatchObject({ removed: 1 })
    expect(upload).toBeUndefined()
  })
})

import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { catalogFormat, keys, newestFormat } from '../../src/base/store/records.ts'
import { memoryContent } from '../../src/contents/memory/index.ts'
import { fetchHandler, serve } from '../../src/server/index.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import {
  CatalogError,
  errorNumbers,
  type LocalCatalog,
  openCatalog,
  operations,
  renameTable,
  type Store,
  verifyCatalog,
} from '../../src/tabularium/index.ts'
import { fakeCatalog, fakeServer } from '../../src/testing/index.ts'
import {
  closedAfterwards,
  eachCatalog,
  eachLocalCatalog,
  freshFolder,
  stoppedClock,
} from '../support/catalogs.ts'
import { inspect, tablesOf } from '../support/inspect.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { fails, refuses } from '../support/refusals.ts'
import { numbered } from '../support/rows.ts'

describe('openCatalog', () => {
  it('opens a server by its URL, and refuses what works on the disk of the catalog', async () => {
    const server = await serve(await openCatalog('memory:'), { auth: false, port: 0, log: false })
    onTestFinished(() => server.close())
    const catalog = (await openCatalog(server.url as `http://${string}`)) as unknown as LocalCatalog
    closedAfterwards(catalog)
    await catalog.declareTable({ id: ['t'] })
    expect(await tablesOf(catalog)).toEqual(['t'])
    expect(catalog.isCopy).toBe(false)
    const folder = await freshFolder()
    for (const attempt of [
      () => catalog.vacuum(),
      () => catalog.verify(),
      () => catalog.backup(folder),
      () => catalog.withBackupLease(async () => {}),
      () => catalog.exportTo(folder),
      () => catalog.importFrom(folder),
    ])
      await fails(attempt, 'Unsupported', 'run it where the catalog lies')
    await fails(catalog.metrics(), 'Unsupported', 'Ask /metrics of the server')
  })

  it('a new catalog whose content another one owns leaves nothing, and opens with a content of its own', async () => {
    const content = pathToFileURL(await freshFolder()).href
    const first = closedAfterwards(await openCatalog(await freshFolder(), { content }))
    const folder = await freshFolder()
    await fails(openCatalog(folder, { content }), 'InvalidInput')
    const own = pathToFileURL(await freshFolder()).href
    const second = closedAfterwards(await openCatalog(folder, { content: own }))
    for (const catalog of [first, second]) await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    expect((await second.describeTable({ id: ['t'] })).location).toContain(own)
  })

  it.skipIf(missingPostgres)('a database is told once where the rows lie', async () => {
    const url = (await (await sharedServer()).freshUrl()) as `postgres://${string}`
    await fails(openCatalog(url), 'InvalidInput', 'does not say where the rows of this catalog lie')
    const content = memoryContent()
    const own = closedAfterwards(await openCatalog(url, { content, root: 'memory://here/' }))
    expect((await own.declareTable({ id: ['t'] })).location).toMatch(/^memory:\/\/here\//)
    const other = (await (await sharedServer()).freshUrl()) as `postgres://${string}`
    const folder = pathToFileURL(await freshFolder()).href
    const first = closedAfterwards(await openCatalog(other, { content: folder }))
    await first.createTable({ id: ['t'], data: [{ x: 1 }] })
    const again = closedAfterwards(await openCatalog(other))
    expect(await tablesOf(again)).toEqual(['t'])
    const steps: string[] = []
    const report = await verifyCatalog(other, { onProgress: ({ step }) => void steps.push(step) })
    expect(report).toMatchObject({ ok: true })
    expect(steps).toContain('content')
  })

  it('verifies a directory that is not open, and reports one without a record as damaged', async () => {
    const folder = await freshFolder()
    const store = await openLmdbStore(folder)
    await store.close()
    const steps: string[] = []
    const { ok, findings } = await verifyCatalog(folder, { onProgress: ({ step }) => void steps.push(step) })
    expect(ok).toBe(false)
    expect(findings).toMatchObject([{ kind: 'store', message: expect.stringContaining('holds no records') }])
    expect(steps[0]).toBe('store')
  })

  it('opens a directory by path, by file URL in text and by URL object, creating it when it is missing', async () => {
    const folder = join(await freshFolder(), 'new', 'catalog')
    const first = await openCatalog(folder)
    await first.declareTable({ id: ['t'] })
    await first.close()
    for (const location of [pathToFileURL(folder).href, pathToFileURL(folder), `${folder}/`]) {
      const catalog = closedAfterwards(await openCatalog(location))
      expect(await tablesOf(catalog)).toEqual(['t'])
      await catalog.close()
    }
  })

  it('what one handle did, another on the same directory sees at once', async () => {
    const folder = await freshFolder()
    const one = closedAfterwards(await openCatalog(folder))
    const two = closedAfterwards(await openCatalog(folder))
    const { location } = await one.declareTable({ id: ['t'] })
    expect(await two.describeTable({ id: ['t'] })).toMatchObject({ location })
    await two.renameTable({ id: ['t'], new_table_name: 'u' })
    expect(await tablesOf(one)).toEqual(['u'])
    const { page_token } = await one.listAllTables({ limit: 0 })
    expect(await two.listAllTables({ page_token })).toEqual({ tables: ['u'] })
  })

  it('reached through a symbolic link, it chooses the same locations', async () => {
    const folder = await freshFolder()
    await mkdir(join(folder, 'real'))
    await symlink(join(folder, 'real'), join(folder, 'link'))
    const catalog = closedAfterwards(await openCatalog(join(folder, 'link')))
    const { location } = await catalog.declareTable({ id: ['t'] })
    expect(location).toContain(pathToFileURL(join(folder, 'real')).href)
  })

  it('opening an existing catalog and reading from it writes nothing', async () => {
    const store = memoryStore()
    const content = memoryContent()
    const first = await openCatalog({ store, content })
    await first.declareTable({ id: ['t'] })
    const again = await openCatalog({ store: refusingWrites(store), content })
    expect(await inspect(again)).toEqual(await inspect(first))
  })

  it.each(['', 'ftp://127.0.0.1:2333', 's3://bucket/catalog', 7, null, undefined])(
    'refuses %j, saying what it takes',
    async (location) => {
      await fails(
        openCatalog(location as string),
        'InvalidInput',
        'openCatalog',
        "'memory:', the path of a directory",
      )
    },
  )

  it('refuses a file, and a folder for locations that is not there', async () => {
    const folder = await freshFolder()
    await writeFile(join(folder, 'file'), 'x')
    await fails(openCatalog(join(folder, 'file')), 'InvalidInput', 'file')
    const locationRoots = [join(folder, 'none')]
    await fails(
      openCatalog('memory:', { locationRoots }),
      'InvalidInput',
      'none',
      'Create it, or leave it out',
    )
    await fails(openCatalog(join(folder, 'c'), { locationRoots }), 'InvalidInput', 'none')
    // The directory was let go of, and opens without the folder.
    await closedAfterwards(await openCatalog(join(folder, 'c'))).declareTable({ id: ['t'] })
  })

  it.each([
    [newestFormat + 1, 'a newer release'],
    [catalogFormat - 1, 'an older release'],
  ])('refuses a catalog of format %d, which %s wrote, and changes nothing in it', async (format, release) => {
    const store = memoryStore()
    await store.write((writer) =>
      writer.put(keys.catalog, { v: format, id: 'x', secret: 'y', created_at: 0 }),
    )
    const content = memoryContent()
    await fails(openCatalog({ store, content }), 'Unsupported', `format ${format}`, release)
    expect(await store.read((reader) => [...reader.range({})].length)).toBe(1)
  })
})

describe('a catalog over a store and content of one’s own', () => {
  it('refuses options that do not exist, as whatever serves and fakes a catalog does', async () => {
    const wrong = { authorise: () => false } as object
    const own = { store: memoryStore(), content: memoryContent() }
    const catalog = closedAfterwards(await openCatalog('memory:'))
    const limits = { inflight: 5 } as object
    const folder = await freshFolder()
    const attempts: (() => Promise<unknown>)[] = [
      () => openCatalog('memory:', wrong),
      () => openCatalog(join(folder, 'c'), wrong),
      () => openCatalog({ ...own, ...wrong }),
      () => openCatalog('http://localhost:1', wrong),
      () => serve(catalog, { port: 0, auth: false, ...wrong }),
      () => fetchHandler(catalog, { auth: false, ...wrong }),
      () => fakeCatalog(wrong),
      () => fakeServer(wrong),
    ]
    for (const attempt of attempts)
      await fails(attempt, 'InvalidInput', 'has no option authorise.', 'Its options are ')
    await fails(() => openCatalog('memory:', wrong), 'InvalidInput', 'Did you mean authorize?')
    expect(await readdir(folder)).toEqual([])
    const withLimits = () => fetchHandler(catalog, { auth: false, limits })
    await fails(withLimits, 'InvalidInput', 'limits has no option inflight')
    await fails(openCatalog('memory:', { optimize: 'on' as 'off' }), 'InvalidInput', "'background'")
    const optimize = { evry: 5 } as object
    await fails(openCatalog('memory:', { optimize }), 'InvalidInput', 'optimize has no option evry')
    await openCatalog('memory:', { authorize: undefined, nothing: undefined } as object)
  })

  it('works like any other, its locations below the root that was given', async () => {
    const catalog = await openCatalog({
      store: memoryStore(),
      content: memoryContent(),
      root: 'archive://here/',
    })
    const { location } = await catalog.createTable({ id: ['t'], data: [{ n: 1 }, { n: 2 }] })
    expect(location).toMatch(/^archive:\/\/here\/tables\/\w+$/)
    expect(await catalog.countTableRows({ id: ['t'], predicate: 'n > 1' })).toEqual({ count: 1 })
  })

  it('takes no root beside the URL of a content, which has one', async () => {
    const content = pathToFileURL(await freshFolder()).href
    await fails(
      openCatalog({ store: memoryStore(), content, root: 'memory://here' }),
      'InvalidInput',
      'begin with the URL of the content',
    )
  })

  it('needs both of them', async () => {
    for (const options of [{}, { store: memoryStore() }, { content: memoryContent() }]) {
      await fails(openCatalog(options as never), 'InvalidInput', 'both a store and a content')
    }
  })

  it('an unexpected error of the store is an Internal one that keeps its cause', async () => {
    const store = memoryStore()
    const cause = new Error('the disk caught fire')
    const broken: Store = { ...refusingWrites(store), write: () => Promise.reject(cause) }
    await openCatalog({ store, content: memoryContent() })
    const catalog = await openCatalog({ store: broken, content: memoryContent() })
    const error = await fails(
      catalog.declareTable({ id: ['t'] }),
      'Internal',
      'declareTable',
      'see the cause',
    )
    expect(error.cause).toBe(cause)
    expect(error.message).not.toContain('fire')
  })
})

function refusingWrites(store: Store): Store {
  return {
    features: store.features,
    read: (body) => store.read(body),
    write: () =>
      Promise.reject(new CatalogError('ConcurrentModification', 'Somebody else committed first. Try again.')),
    close: () => store.close(),
  }
}

describe('a catalog in memory', () => {
  it('opened twice is two catalogs, whose page tokens are worth nothing to each other', async () => {
    const [one, two] = [await openCatalog('memory:'), await openCatalog('memory:')]
    await one.declareTable({ id: ['t'] })
    expect(await tablesOf(two)).toEqual([])
    const { page_token } = await one.listAllTables({ limit: 0 })
    await fails(two.listAllTables({ page_token }), 'InvalidInput', 'page_token')
    expect((await one.describeTable({ id: ['t'] })).location).not.toContain(
      (await two.declareTable({ id: ['t'] })).location,
    )
  })

  it('forks into one of its own: what happens to either from then on the other does not see', async () => {
    const catalog = await openCatalog('memory:')
    const rows = async (of: typeof catalog, predicate?: string) =>
      (await of.countTableRows({ id: ['t'], predicate })).count
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }, { n: 2 }, { n: 3 }] })
    const fork = catalog.fork()
    await fork.deleteFromTable({ id: ['t'], predicate: 'n = 1' })
    await fork.declareTable({ id: ['only fork'] })
    await catalog.insertIntoTable({ id: ['t'], data: [{ n: 4 }, { n: 5 }] })
    await catalog.createTableTag({ id: ['t'], tag: 'only-here', version: 2 })
    expect([await rows(catalog), await rows(fork)]).toEqual([5, 2])
    expect([await rows(catalog, 'n > 2'), await rows(fork, 'n > 2')]).toEqual([3, 1])
    expect(await tablesOf(catalog)).toEqual(['t'])
    expect(await tablesOf(fork)).toEqual(['only fork', 't'])
    const second = fork.fork()
    await fork.dropTable({ id: ['t'] })
    expect(await rows(second, 'n > 0')).toBe(2)
    await fork.close()
    expect(await rows(second, 'n > 0')).toBe(2)
    expect(await rows(catalog, 'n > 0')).toBe(5)
  })

  it('a method replaced on it is not replaced on its forks', async () => {
    const catalog = await openCatalog('memory:')
    Object.assign(catalog, { listTables: async () => ({ tables: ['replaced'] }) })
    expect(await catalog.fork().listTables({ id: [] })).toEqual({ tables: [] })
  })

  it('goes back to a snapshot as often as one likes, and snapshots see nothing of what follows', async () => {
    const catalog = await openCatalog('memory:')
    const count = async (predicate: string) => (await catalog.countTableRows({ id: ['t'], predicate })).count
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
    const snapshot = catalog.snapshot()
    const before = await inspect(catalog)
    // The versions made after each return have the same numbers, but not the same rows.
    for (const n of [10, 20, 30]) {
      const { version } = await catalog.insertIntoTable({ id: ['t'], data: [{ n }] })
      expect(version).toBe(2)
      expect(await count(`n = ${n}`)).toBe(1)
      expect(await count('n >= 10')).toBe(1)
      await catalog.dropTable({ id: ['t'] })
      catalog.restore(snapshot)
      expect(await inspect(catalog)).toEqual(before)
      expect(await count('n = 1')).toBe(1)
    }
  })

  it('a fork takes a snapshot of the other back, rows and all', async () => {
    const catalog = await openCatalog('memory:')
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
    const fork = catalog.fork()
    await fork.insertIntoTable({ id: ['t'], data: [{ n: 2 }] })
    catalog.restore(fork.snapshot())
    expect(await catalog.countTableRows({ id: ['t'], predicate: 'n = 2' })).toEqual({ count: 1 })
  })
})

eachCatalog((open) => {
  describe('the handle', () => {
    it('has methods that may be passed around alone, and replaced before or after their first use', async () => {
      const catalog = await open()
      const { listTables } = catalog
      expect(await listTables({ id: [] })).toEqual({ tables: [] })
      const answer = async () => ({ tables: ['replaced'] })
      for (const name of ['listTables', 'listAllTables'] as const) {
        Object.assign(catalog, { [name]: answer })
        expect(await catalog[name]({ id: [] })).toEqual({ tables: ['replaced'] })
      }
    })

    it('has every operation as a method, and the plain functions do the same', async () => {
      const catalog = await open()
      for (const name of Object.keys(operations)) expect(catalog).toHaveProperty(name, expect.any(Function))
      await catalog.declareTable({ id: ['t'] })
      await renameTable(catalog, { id: ['t'], new_table_name: 'u' })
      expect(await tablesOf(catalog)).toEqual(['u'])
    })

    it('refuses what comes after close, and closes again without harm', async () => {
      const catalog = await open()
      await catalog.close()
      await catalog.close()
      await fails(catalog.listAllTables({}), 'ServiceUnavailable', 'listAllTables', 'Open the catalog again')
      await fails(catalog.declareTable({ id: ['t'] }), 'ServiceUnavailable', 'declareTable', 'closed')
    })

    it('lets what is under way finish before it closes', async () => {
      const catalog = await open()
      const declared = Array.from({ length: 50 }, (_, i) => catalog.declareTable({ id: [`t${i}`] }))
      const created = catalog.createTable({ id: ['rows'], data: [{ n: 1 }] })
      const listed = catalog.listAllTables({})
      await catalog.close()
      await Promise.all([...declared, listed])
      expect(await created).toMatchObject({ version: 1 })
    })

    it('closes at the end of an await using block', async () => {
      const catalog = await open()
      {
        await using scoped = catalog
        await scoped.declareTable({ id: ['t'] })
      }
      await fails(catalog.listAllTables({}), 'ServiceUnavailable', 'closed')
    })

    it.each(Object.values(operations).map((operation) => operation.definition))(
      '$name refuses a request that is no object',
      async ({ name }) => {
        const catalog = await open()
        const method = catalog[name as keyof typeof operations] as (request: unknown) => Promise<unknown>
        for (const request of [undefined, null, 'x', 7, []]) {
          await fails(method(request), 'InvalidInput', name, 'one object')
        }
      },
    )
  })

  describe('transaction ids and internal ids', () => {
    it('sort by time, also when the clock stands still', async () => {
      const catalog = await open({ now: stoppedClock() })
      const ids: (string | undefined)[] = []
      for (let i = 0; i < 20; i++) ids.push((await catalog.declareTable({ id: [`t${i}`] })).transaction_id)
      expect(ids).toEqual([...ids].sort())
    })

    it('come from the source that was given', async () => {
      let made = 0
      const catalog = await open({ newId: () => `id-${String(++made).padStart(6, '0')}` })
      const { location, transaction_id } = await catalog.declareTable({ id: ['t'] })
      expect(location).toMatch(/\/tables\/id-\d{6}$/)
      expect(transaction_id).toMatch(/^id-\d{6}$/)
    })
  })
})

describe('errors', () => {
  it('carry the protocol’s number of their code', () => {
    expect(new CatalogError('TableNotFound', 'x').number).toBe(4)
    expect(Object.values(errorNumbers)).toEqual(Array.from({ length: 24 }, (_, number) => number))
  })
})

describe('a directory', () => {
  it('holds the store’s files only until there are rows that are too many for it', async () => {
    const folder = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(folder))
    await catalog.declareTable({ id: ['t'] })
    expect((await readdir(folder)).sort()).toEqual(['catalog.lock', 'catalog.mdb', 'catalog.mdb-lock'])
    await catalog.insertIntoTable({ id: ['t'], data: numbered(1) })
    expect(await readdir(folder)).not.toContain('tables')
    await catalog.insertIntoTable({ id: ['t'], data: numbered(10_000) })
    expect(await readdir(folder)).toContain('tables')
  })
})

eachLocalCatalog((open) => {
  describe('authorize', () => {
    it('is asked before every operation, with the identity and context of the request', async () => {
      const asked: unknown[] = []
      const catalog = await open({ authorize: (question) => asked.push(question) })
      const identity = { api_key: 'k', auth_token: 't' }
      const context = { 'header.x': 'y' }
      await catalog.declareTable({ id: ['t'], identity, context })
      await catalog.listAllTables({})
      expect(asked).toEqual([
        {
          operation: 'declareTable',
          changes: true,
          id: ['t'],
          identity,
          context,
          request: { id: ['t'], identity, context },
        },
        { operation: 'listAllTables', changes: false, id: undefined, request: {} },
      ])
    })

    it('is asked for each item of a batch as if it was called alone, and for the new name of a table', async () => {
      const asked: unknown[] = []
      const catalog = await open({
        authorize: ({ operation, id }) => {
          asked.push([operation, id])
          return operation !== 'declareTable' && !id?.includes('private')
        },
      })
      await catalog.createNamespace({ id: ['n'] })
      const operations = [
        { create_table_version: { id: ['n', 't'], version: 1, manifest_path: 'm' } },
        { declare_table: { id: ['n', 'u'] } },
      ]
      await refuses(
        catalog,
        () => catalog.batchCommitTables({ operations }),
        'PermissionDenied',
        'declareTable',
      )
      const begin = asked.findIndex((question) => (question as string[])[0] === 'batchCommitTables')
      expect(asked.slice(begin, begin + 3)).toEqual([
        ['batchCommitTables', undefined],
        ['createTableVersion', ['n', 't']],
        ['declareTable', ['n', 'u']],
      ])
      await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
      for (const request of [
        { id: ['t'], new_table_name: 'private' },
        { id: ['t'], new_table_name: 'x', new_namespace_id: ['private'] },
      ]) {
        await refuses(catalog, () => catalog.renameTable(request), 'PermissionDenied', 'renameTable')
      }
      const entries = [{ id: ['private'], version: 1, manifest_path: 'm' }]
      const create = () => catalog.batchCreateTableVersions({ entries })
      await refuses(catalog, create, 'PermissionDenied', 'createTableVersion')
      await catalog.renameTable({ id: ['t'], new_table_name: 'x' })
    })

    it('is told the location that a table is declared or registered at, in one spelling', async () => {
      const asked: unknown[] = []
      const folder = await freshFolder()
      const catalog = await open({
        locationRoots: [folder],
        authorize: ({ operation, id, location }) => {
          asked.push([operation, id, location])
          return location === undefined || location.startsWith(pathToFileURL(join(folder, 'mine')).href)
        },
      })
      const theirs = join(folder, 'mine/../theirs')
      for (const call of [
        () => catalog.declareTable({ id: ['a'], location: theirs }),
        () => catalog.registerTable({ id: ['a'], location: theirs }),
        () => catalog.batchCommitTables({ operations: [{ declare_table: { id: ['a'], location: theirs } }] }),
      ]) {
        await refuses(catalog, call, 'PermissionDenied')
        const location = pathToFileURL(join(folder, 'theirs')).href
        const operation = expect.stringMatching('declareTable|registerTable')
        expect(asked.filter((question) => (question as unknown[])[2] !== undefined)).toEqual([
          [operation, ['a'], location],
        ])
        asked.length = 0
      }
      await catalog.registerTable({ id: ['a'], location: join(folder, 'mine/a') })
      await fails(catalog.registerTable({ id: ['b'], location: 'nowhere' }), 'InvalidInput', 'location')
    })

    it('refuses by answering false, by throwing, or with an error of its own; nothing changes', async () => {
      let answer: () => unknown = () => true
      const catalog = await open({ authorize: ({ changes }) => !changes || answer() })
      const attempt = () => catalog.declareTable({ id: ['t'] })
      answer = () => false
      await refuses(catalog, attempt, 'PermissionDenied', 'declareTable', 'Ask whoever runs the catalog')
      answer = () => Promise.resolve(false)
      await refuses(catalog, attempt, 'PermissionDenied', 'declareTable')
      const cause = new Error('no such user')
      answer = () => Promise.reject(cause)
      expect((await refuses(catalog, attempt, 'PermissionDenied', 'declareTable')).cause).toBe(cause)
      answer = () => {
        throw new CatalogError('Unauthenticated', 'The token is out of date; get a new one.')
      }
      await refuses(catalog, attempt, 'Unauthenticated', 'out of date')
      answer = () => undefined
      await attempt()
    })
  })
})

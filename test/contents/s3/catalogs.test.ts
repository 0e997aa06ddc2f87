import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { tableEngine } from '../../../src/engine/table/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog, openContent, verifyCatalog } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bytesOf, paths, text } from '../../../src/testing/suites/content/trial.ts'
import { declared } from '../../catalog/lance/support.ts'
import { lines, run } from '../../cli/run.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { limitEach } from '../../support/time-limit.ts'
import { type Fault, faultyProxy, type Passing } from '../faulty-proxy.ts'
import { s3Place } from './server.ts'

// Damaged bytes are asked for again, after pauses.
limitEach(60)

const place = await s3Place()
const proxy = typeof place === 'string' ? (undefined as never) : await faultyProxy(place.endpoint)
afterAll(() => proxy?.close())

const rows = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ({ x: from + i }))

describe.skipIf(typeof place === 'string')('a catalog in a directory with its rows in S3', () => {
  let url: string
  let bare: string

  beforeEach(() => {
    proxy.decide = () => undefined
    proxy.seen.length = 0
    if (typeof place === 'string') return
    url = place.freshUrl(proxy.url)
    bare = `${url.slice(0, url.indexOf('?'))}/`
  })

  test('is opened again without the option, and has its rows', async () => {
    const folder = await freshFolder()
    {
      await using catalog = await openCatalog(folder, { content: url })
      const { location } = await catalog.createTable({ id: ['t'], data: rows(3) })
      expect(location!.startsWith(`${bare}tables/`)).toBe(true)
      await catalog.insertIntoTable({ id: ['t'], data: rows(3, 3) })
    }
    expect((await readdir(folder)).sort()).not.toContain('tables')
    await using again = await openCatalog(folder)
    expect(await again.countTableRows({ id: ['t'], predicate: 'x > 1' })).toEqual({ count: 4 })
    await using other = await openCatalog(folder, { content: url.replace(/\?/, '/?') })
    expect(await other.countTableRows({ id: ['t'] })).toEqual({ count: 6 })
  })

  test('keeps its content: another one is refused, and so is one for a catalog with rows of its own', async () => {
    const folder = await freshFolder()
    await (await openCatalog(folder, { content: url })).close()
    const other = (typeof place === 'string' ? undefined : place.freshUrl())!
    const error = await refused(openCatalog(folder, { content: other }), 'InvalidInput')
    expect(error.message).toContain(`keeps its rows at ${bare}, not at `)
    const local = await freshFolder()
    await (await openCatalog(local)).close()
    const second = await refused(openCatalog(local, { content: other }), 'InvalidInput')
    expect(second.message).toContain('keeps its rows with its records')
  })

  test('owns its prefix: no other catalog can use it, and objects of others are not taken', async () => {
    await (await openCatalog(await freshFolder(), { content: url })).close()
    const folder = await freshFolder()
    const error = await refused(openCatalog(folder, { content: url }), 'InvalidInput')
    expect(error.message).toMatch(/belongs to another catalog.*Give each catalog a prefix of its own\./)
    // The directory can still become a catalog.
    await (await openCatalog(folder)).close()

    const taken = (typeof place === 'string' ? undefined : place.freshUrl())!
    await (await openContent(taken)).put('tables/mine', bytesOf('x'))
    const refusal = await refused(openCatalog(await freshFolder(), { content: taken }), 'InvalidInput')
    expect(refusal.message).toMatch(/tables\/ holds objects that belong to no catalog/)
    expect(await text(await openContent(taken), 'tables/mine')).toBe('x')
  })

  test('is refused where the service replaces objects, and nothing is half done', async () => {
    const folder = join(await freshFolder(), 'new')
    proxy.decide = ({ headers }) => {
      delete headers['if-none-match']
      return undefined
    }
    const error = await refused(openCatalog(folder, { content: url }), 'Unsupported')
    expect(error.message).toMatch(/replaces objects although it is asked not to \(If-None-Match: \*\)/)
    proxy.decide = () => undefined
    expect(await paths(await openContent(url), '')).toEqual([])
    await using catalog = await openCatalog(folder)
    expect(await catalog.listTables({ id: [] })).toMatchObject({ tables: [] })
    // The prefix may be another catalog's.
    await using other = await openCatalog(await freshFolder(), { content: url })
    await other.createTable({ id: ['t'], data: rows(3) })
    expect(await other.countTableRows({ id: ['t'] })).toEqual({ count: 3 })
  })

  test('keeps both its record and its claim where the claim cannot be undone', async () => {
    const folder = await freshFolder()
    proxy.decide = ({ method, headers }) => {
      delete headers['if-none-match']
      return method === 'DELETE' || method === 'POST' ? { kind: 'answer', status: 403 } : undefined
    }
    await refused(openCatalog(folder, { content: url }), 'Unsupported')
    proxy.decide = () => undefined
    expect(await paths(await openContent(url), '')).toEqual(['catalog.json'])
    await using catalog = await openCatalog(folder, { content: url })
    expect(await catalog.listTables({ id: [] })).toMatchObject({ tables: [] })
  })

  test('is refused where the service looks for an object first and writes it then', async () => {
    let puts = 0
    proxy.decide = ({ method, headers }) => {
      // Two have looked before either wrote.
      if (method === 'PUT' && ++puts <= 2) delete headers['if-none-match']
      return undefined
    }
    const error = await refused(openCatalog(await freshFolder(), { content: url }), 'Unsupported')
    expect(error.message).toMatch(/lets several writers at once create one object \(If-None-Match: \*\)/)
    expect(await paths(await openContent(url), '')).toEqual([])
  })

  test('makes no directory when the URL or the bucket is wrong', async () => {
    const folder = join(await freshFolder(), 'new')
    const wrong = [
      ['s3://', /names no bucket/],
      ['s3:bucket', /begins with/],
      ['gopher://bucket/x', /begins with/],
      ['s3://key:secret@bucket/x', /holds a user or a password/],
      ['s3://bucket/a//b', /not a plain path/],
      ['s3://bucket/../b', /not a plain path/],
      ['s3://bucket/%zz', /not encoded well/],
      [
        's3://bucket/x?colour=red',
        /"colour", which nobody reads. It takes endpoint, region, profile, path-style/,
      ],
      ['s3://bucket/x?endpoint=nowhere', /endpoint of the content is not the plain URL/],
      ['s3://bucket/x?path-style=perhaps', /neither true nor false/],
      [url.replace('s3://rows/', 's3://no-such-bucket/'), /there is no bucket no-such-bucket\. Create it/],
    ] as const
    for (const [content, message] of wrong) {
      const error = await refused(openCatalog(folder, { content }), 'InvalidInput')
      expect(error.message).toMatch(message)
      expect(error.message).not.toContain('secret')
    }
    await expect(access(folder)).rejects.toThrow()
    await refused(openCatalog('memory:', { content: url } as object), 'InvalidInput')
  })

  test('is verified, vacuumed, exported and imported, and says why it cannot be backed up', async () => {
    const folder = await freshFolder()
    await using catalog = await openCatalog(folder, { content: url })
    await catalog.createTable({ id: ['t'], data: rows(100) })
    await catalog.deleteFromTable({ id: ['t'], predicate: 'x < 10' })
    await catalog.createTable({ id: ['gone'], data: rows(5) })
    const content = await openContent(url)
    await content.put(`tables/gone/data/${'0'.repeat(9)}-${'0'.repeat(16)}.arrow`, bytesOf('a crash left it'))
    await catalog.dropTable({ id: ['gone'] })

    expect(await catalog.verify()).toMatchObject({ ok: true, problems: 0 })
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 1 })
    expect(await verifyCatalog(folder)).toMatchObject({ ok: true, problems: 0 })

    const files = join(await freshFolder(), 'files')
    await catalog.exportTo(files, { history: true })
    await using other = await openCatalog({
      store: memoryStore(),
      content: (place as { freshUrl(): string }).freshUrl(),
    })
    await other.importFrom(files)
    expect(await other.countTableRows({ id: ['t'] })).toEqual({ count: 90 })
    expect(await other.countTableRows({ id: ['t'], version: 1 })).toEqual({ count: 100 })

    const error = await refused(catalog.backup(join(await freshFolder(), 'copy')), 'Unsupported')
    expect(error.message).toContain(bare)

    // Damage is found.
    const [fragment] = (await paths(content, 'tables/')).filter((path) => path.includes('/data/'))
    const bytes = (await content.get(fragment!))!.slice()
    bytes[bytes.length >> 1]! ^= 1
    await content.shared!.replace(fragment!, bytes)
    expect(await catalog.verify()).toMatchObject({ ok: false })
  })

  test('takes locations below its prefix, and brings back what was deregistered there', async () => {
    await using catalog = await openCatalog(await freshFolder(), { content: url })
    const { location } = await catalog.createTable({ id: ['t'], data: rows(4) })
    await catalog.deregisterTable({ id: ['t'] })
    await catalog.registerTable({ id: ['again'], location: location! })
    expect(await catalog.countTableRows({ id: ['again'] })).toEqual({ count: 4 })
    await refused(catalog.declareTable({ id: ['u'], location: `${bare}catalog.json` }), 'InvalidInput')
    // A writer of its own kind writes there without telling the catalog.
    await catalog.declareTable({ id: ['theirs'], location: `${bare}their/place` })
    const isDeclared = async () =>
      (await catalog.describeTable({ id: ['theirs'], check_declared: true })).is_only_declared
    expect(await isDeclared()).toBe(true)
    // A dataset of Lance begins with its first manifest.
    await (await openContent(url)).put('their/place/data/1.lance', bytesOf('rows'))
    expect(await isDeclared()).toBe(true)
    await (await openContent(url)).put('their/place/_versions/1.manifest', bytesOf('manifest'))
    expect(await isDeclared()).toBe(false)
    await catalog.dropTable({ id: ['theirs'] })
    expect(await paths(await openContent(url), 'their/')).toEqual([])
  })

  test('bytes that a network damaged are read again, and what stays damaged is never served', async () => {
    const folder = await freshFolder()
    {
      await using catalog = await openCatalog(folder, { content: url })
      await catalog.createTable({ id: ['small'], data: rows(10) })
      await catalog.createTable({ id: ['large'], data: rows(50_000) })
    }
    for (const id of [['small'], ['large']]) {
      for (const kind of ['manifest', 'rows']) {
        const isIt = ({ method, path }: Passing) =>
          method === 'GET' && path.endsWith(kind === 'rows' ? '.arrow' : '.json') && path.includes('/tables/')
        const damage: Fault = { kind: 'damage' }
        let left = 1
        proxy.decide = (passing) => (isIt(passing) && left-- > 0 ? damage : undefined)
        await using catalog = await openCatalog(folder)
        const { count } = await catalog.countTableRows({ id, predicate: 'x >= 5' })
        expect(count).toBe(id[0] === 'small' ? 5 : 49_995)
        expect(left).toBeLessThan(1)
        proxy.decide = (passing) => (isIt(passing) ? damage : undefined)
        await using second = await openCatalog(folder)
        await expect(second.countTableRows({ id, predicate: 'x >= 5' })).rejects.toMatchObject({
          code: expect.stringMatching(/^(InvalidTableState|ServiceUnavailable)$/),
        })
      }
    }
  })

  test('loses nothing by a vacuum where listings lag behind', async () => {
    await using catalog = await openCatalog(await freshFolder(), { content: url })
    const known = new Set<string>()
    proxy.decide = ({ query }) =>
      query.has('list-type')
        ? { kind: 'rewrite', with: (listing) => without(listing, (key) => !known.has(key)) }
        : undefined
    for (let i = 0; i < 4; i++) {
      await catalog.createTable({ id: [`t${i}`], data: rows(3) })
      await catalog.insertIntoTable({ id: [`t${i}`], data: rows(3) })
      await catalog.createTable({ id: [`r${i}`], data: rows(3) })
      await catalog.deregisterTable({ id: [`r${i}`] })
      const decide = proxy.decide
      if (i === 1) {
        // From now on, what was put until here is listed.
        proxy.decide = () => undefined
        for (const path of await paths(await openContent(url), '')) known.add(path)
        proxy.decide = decide
      }
      await catalog.vacuum({ graceMillis: 0 })
    }
    proxy.decide = () => undefined
    for (let i = 0; i < 4; i++) expect(await catalog.countTableRows({ id: [`t${i}`] })).toEqual({ count: 6 })
    expect(await catalog.verify()).toMatchObject({ ok: true, problems: 0 })
  })

  test('is one catalog, however many open it when it is new', async () => {
    const folder = await freshFolder()
    const opened = await Promise.all(Array.from({ length: 4 }, () => openCatalog(folder, { content: url })))
    await Promise.all(opened.map((catalog, i) => catalog.createTable({ id: [`t${i}`], data: rows(i + 1) })))
    for (const catalog of opened) {
      expect(await catalog.countTableRows({ id: ['t3'] })).toEqual({ count: 4 })
      await catalog.close()
    }
  })

  test('publishes the manifests that clients of Lance stage', async () => {
    await using catalog = await openCatalog(await freshFolder(), { content: url, managedVersioning: true })
    const dataset = await declared(catalog, await openContent(url), 't')
    const staged = await Promise.all([1, 2, 3].map((n) => dataset.stage(1, `writer ${n}`)))
    const answers = await Promise.allSettled(
      staged.map((entry) => catalog.createTableVersion({ id: ['t'], ...entry })),
    )
    const winners = answers.flatMap(({ status }, n) => (status === 'fulfilled' ? [`writer ${n + 1}`] : []))
    expect(winners).toHaveLength(1)
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(2, 'two')) })
    expect(await dataset.manifests()).toEqual([
      [1, winners[0]],
      [2, 'two'],
    ])
    expect(await catalog.describeTable({ id: ['t'] })).toMatchObject({ managed_versioning: true })
  })

  test('is served by one command, and other commands find its rows', async () => {
    const folder = await freshFolder()
    const stop = new AbortController()
    const served = run(['serve', folder, '--content', url, '--no-auth', '--port', '0'], {
      signal: stop.signal,
    })
    await expect.poll(() => proxy.seen.filter((seen) => seen.startsWith('PUT')).length).toBeGreaterThan(1)
    stop.abort()
    const { code, out, err } = await served
    expect([code, err, out]).toEqual([
      0,
      expect.stringMatching(/^note: a new catalog was created in .*\n$/),
      expect.stringMatching(/^tabularium listening on /),
    ])
    expect((await run(['create', folder, 't', '--data', '[{"a":1},{"a":2}]'])).err).toBe('')
    expect((await paths(await openContent(url), 'tables/')).length).toBeGreaterThan(0)
    expect(lines(await run(['count', folder, 't']))).toEqual([{ count: 2 }])
    expect((await run(['verify', folder])).code).toBe(0)
  })

  test('worker threads read objects themselves', async () => {
    const content = await openContent(url)
    const read: string[] = []
    const watched = contentWith(content, {
      url: content.url,
      get: (path, range) => {
        read.push(path)
        return content.get(path, range)
      },
    })
    const { toArrowTable } = await import('../../../src/engine/table/index.ts')
    const engine = tableEngine({ content: watched, threads: 1, threadedRows: 1, threadedAfter: 0 })
    try {
      const table = await engine.create('t/', await toArrowTable(rows(1000)))
      expect(await engine.countRows(table, { predicate: 'x % 2 = 0' })).toBe(500)
      expect(read.filter((path) => path.includes('/data/'))).toEqual([])
      expect(proxy.seen.some((seen) => seen.startsWith('GET') && seen.includes('/data/'))).toBe(true)
    } finally {
      await engine.close()
    }
  })
})

/** A listing without the objects whose path a test holds for. */
function without(listing: string, isHidden: (path: string) => boolean): string {
  return listing.replace(/<Contents>.*?<\/Contents>/gs, (item) => {
    const key = /<Key>(.*?)<\/Key>/.exec(item)![1]!
    return isHidden(key.slice(key.indexOf('/') + 1)) ? '' : item
  })
}

if (typeof place === 'string') test.skip(`S3 is not tried: ${place}`)

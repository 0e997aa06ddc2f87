import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type LocalCatalog, openCatalog, openContent } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bytesOf, paths } from '../../../src/testing/suites/content/trial.ts'
import { listed } from '../../catalog/lance/support.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { faultyProxy } from '../faulty-proxy.ts'
import { s3Place } from './server.ts'

const place = await s3Place()
const id = ['t']
const rows = [{ x: 1 }, { x: 2 }]

describe.skipIf(typeof place === 'string')('a root for locations in S3', () => {
  /** The URL of a prefix that the option names, without and with what reaches it. */
  let root: string
  let url: string
  let folder: string

  beforeEach(async () => {
    if (typeof place === 'string') return
    url = place.freshUrl()
    root = url.slice(0, url.indexOf('?'))
    folder = await freshFolder()
  })

  const open = async (locationRoots: readonly string[] = [url], options = {}) =>
    closedAfterwards(await openCatalog(folder, { locationRoots, ...options }))
  const below = (path: string) => `${url.replace('?', `/${path}?`)}`

  async function expectRows(catalog: LocalCatalog, count: number): Promise<void> {
    expect(await catalog.countTableRows({ id })).toEqual({ count })
  }

  it('has tables: created, changed, registered again, verified, vended and removed', async () => {
    const catalog = await open([url], { storageOptions: (location: string) => ({ for: location }) })
    const location = `${root}/a b/t`
    const spelled = `${root}/a%20b/t`
    await catalog.declareTable({ id, location })
    const described = await catalog.describeTable({ id, vend_credentials: true })
    expect(described).toMatchObject({ location: spelled, storage_options: { for: spelled } })
    await catalog.createTable({ id, data: rows })
    await catalog.insertIntoTable({ id, data: rows })
    await catalog.deleteFromTable({ id, predicate: 'x = 1' })
    await expectRows(catalog, 2)
    expect((await paths(await openContent(below('a b')), 't/')).length).toBeGreaterThan(4)
    expect(await catalog.verify()).toMatchObject({ ok: true })
    await catalog.deregisterTable({ id })
    await catalog.registerTable({ id, location: spelled })
    await expectRows(catalog, 2)
    await catalog.vacuum({ graceMillis: 0 })
    await expectRows(catalog, 2)
    await catalog.dropTable({ id })
    expect(await paths(await openContent(below('a b')), 't/')).toEqual([])
  })

  it('has tables of Lance whose versions the catalog keeps', async () => {
    const catalog = await open([url], { managedVersioning: true })
    const { location, managed_versioning } = await catalog.declareTable({ id, location: `${root}/t` })
    expect(managed_versioning).toBe(true)
    const content = await openContent(below('t'))
    const path = `${location.slice('s3://rows/'.length)}/_versions/`
    const name = `${18446744073709551614n}.manifest`
    await content.put(`_versions/${name}-${crypto.randomUUID()}`, bytesOf('one'))
    const [staged] = await paths(content, '_versions/')
    await catalog.createTableVersion({
      id,
      version: 1,
      manifest_path: path + staged!.slice(10),
      naming_scheme: 'V2',
    })
    expect(await paths(content, '_versions/')).toEqual([`_versions/${name}`])
    expect(await listed(catalog, 't')).toEqual([1])
  })

  it('says nothing of places beside it: they are names, and left alone', async () => {
    const near = await openContent(url.replace('?', 'x?'))
    await near.put('t/theirs', bytesOf('x'))
    const catalog = await open()
    const upper = root.replace('s3:', 'S3:')
    for (const location of [`${root}x/t`, 's3://other/t', 'gs://rows/t', `${upper}/t`]) {
      await catalog.declareTable({ id, location })
      const error = await refused(catalog.insertIntoTable({ id, data: rows }), 'InvalidTableState')
      expect(error.message).toContain('locationRoots')
      expect(await catalog.dropTable({ id })).toMatchObject({ location })
    }
    expect(await paths(near, 't/')).toEqual(['t/theirs'])
  })

  it('cannot be left by a location, nor named by one', async () => {
    const catalog = await open()
    const paths = [
      '../t',
      'a/../../t',
      '%2e%2e/t',
      'a/%2E./t',
      './t',
      'a//t',
      'a/%2F/t',
      '%zz',
      'a%00b',
      'catalog.json',
      '.tabularium/t',
    ]
    for (const path of paths) {
      await refused(catalog.declareTable({ id, location: `${root}/${path}` }), 'InvalidInput')
    }
    for (const location of [root, `${root}/`, 's3://rows', 's3://rows/']) {
      await refused(catalog.registerTable({ id, location }), 'InvalidInput')
    }
    // Two spellings of one place are one place.
    await catalog.declareTable({ id, location: `${root}/x%2Fy` })
    await refused(catalog.declareTable({ id: ['u'], location: `${root}/x/%79` }), 'TableAlreadyExists')
  })

  it('takes no location by a spelling that it had as a name before', async () => {
    const theirs = await openContent(below('t'))
    await theirs.put('theirs', bytesOf('x'))
    const stored = [`${root}/%74`, `${root}/a/../t`, `${root}/%zz`, `${root}//t`]
    {
      await using before = await openCatalog(folder)
      for (const [n, location] of stored.entries()) await before.declareTable({ id: [`n${n}`], location })
    }
    const catalog = await open()
    for (const n of stored.keys()) {
      await refused(catalog.insertIntoTable({ id: [`n${n}`], data: rows }), 'InvalidTableState')
      await catalog.dropTable({ id: [`n${n}`] })
    }
    expect(await paths(theirs, '')).toEqual(['theirs'])
  })

  it('is refused where another catalog keeps its rows, or above it does', async () => {
    await (await openCatalog(await freshFolder(), { content: url })).close()
    for (const inside of [url, below('more'), below('a/b')]) {
      const error = await refused(openCatalog(folder, { locationRoots: [inside] }), 'InvalidInput')
      expect(error.message).toMatch(/locationRoots: .* belongs to another catalog/)
    }
    // That catalog itself may be told, and keeps its own records.
    const own = await freshFolder()
    const content = (typeof place === 'string' ? undefined : place.freshUrl())!
    await using catalog = await openCatalog(own, {
      content,
      locationRoots: [content.replace('?', '/extra?')],
    })
    await catalog.createTable({ id, data: rows })
    await refused(
      catalog.declareTable({ id: ['u'], location: `${content.slice(0, content.indexOf('?'))}/tables` }),
      'InvalidInput',
    )
  })

  it('is refused where objects could be replaced, and where it cannot be read', async () => {
    if (typeof place === 'string') return
    const proxy = await faultyProxy(place.endpoint)
    try {
      proxy.decide = ({ headers }) => {
        delete headers['if-none-match']
        return undefined
      }
      const root = place.freshUrl(proxy.url)
      const error = await refused(openCatalog(folder, { locationRoots: [root] }), 'Unsupported')
      expect(error.message).toContain('If-None-Match')
      expect(await paths(await openContent(root), '')).toEqual([])
      // A claim to a new content is undone with it.
      const content = place.freshUrl()
      const both = openCatalog(join(folder, 'new'), { content, locationRoots: [root] })
      await refused(both, 'Unsupported')
      expect(await paths(await openContent(content), '')).toEqual([])
    } finally {
      await proxy.close()
    }
    const missing = url.replace('s3://rows/', 's3://no-bucket/')
    await refused(openCatalog(folder, { locationRoots: [missing] }), 'InvalidInput')
    await refused(openCatalog(folder, { locationRoots: ['ftp://host/x'] }), 'InvalidInput')
    await refused(openCatalog(folder, { locationRoots: [`file://${folder}`] }), 'InvalidInput')
    // The directory can be opened without.
    await (await openCatalog(folder)).close()
  })
})

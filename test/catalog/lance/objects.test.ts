import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { connectNamespace, type Table } from '@lancedb/lancedb'
import { build } from 'esbuild'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { serve } from '../../../src/server/index.ts'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { s3Place } from '../../contents/s3/server.ts'
import { forNode } from '../../support/bundle.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { RoleGate } from '../../support/role-gate.ts'
import { limitEach } from '../../support/time-limit.ts'
import { releases, requirePython } from './clients/python.ts'
import { HttpTransaction } from './clients/transaction.ts'

// Clients in Python use tables in object storage.
limitEach(60)

/* Clients of Lance write tables of object storage themselves, with sessions of a role that reach one table each. */

const place = await s3Place()

type StorageOptions = NonNullable<CatalogOptions['storageOptions']>

/** The hook that the page on object storage shows, for a content elsewhere. */
async function hookOfPage(content: string): Promise<StorageOptions> {
  const page = await readFile(new URL('../../../docs/object-storage.md', import.meta.url), 'utf8')
  const example = [...page.matchAll(/^```js\n(.*?)^```/gms)].find(([, code]) =>
    code!.includes('AssumeRole'),
  )![1]!
  const written = example
    .slice(0, example.indexOf('await using'))
    .replace("'s3://bucket/prefix'", JSON.stringify(content))
  // Within the package, so that the packages it depends on are found.
  const folder = await mkdtemp(fileURLToPath(new URL('../../../node_modules/.cache/hook-', import.meta.url)))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(
    join(folder, 'hook.js'),
    `${written.replace(/^import .*'tabularium'$/m, '')}\nexport { storageOptions }`,
  )
  await build({
    ...forNode,
    entryPoints: [join(folder, 'hook.js')],
    outdir: join(folder, 'built'),
  })
  return (await import(pathToFileURL(join(folder, 'built/hook.js')).href)).storageOptions
}

describe.skipIf(typeof place === 'string')('clients of Lance with tables in S3', () => {
  let gate: RoleGate
  let root: string
  let catalog: LocalCatalog
  let url: string

  beforeEach(async () => {
    if (typeof place === 'string') return
    gate = await RoleGate.start(place.endpoint)
    onTestFinished(() => gate[Symbol.asyncDispose]())
    Object.assign(process.env, { AWS_ENDPOINT_URL_STS: gate.url, AWS_REGION: 'us-east-1' })
    const content = place.freshUrl(gate.url)
    root = content.slice(0, content.indexOf('?'))
    const hook = await hookOfPage(root)
    catalog = closedAfterwards(
      await openCatalog(await freshFolder(), {
        content,
        managedVersioning: true,
        storageOptions: async (location, request) => {
          const options = await hook(location, request)
          // The service is not that of AWS.
          return options && { ...options, aws_endpoint: gate.url, allow_http: 'true' }
        },
      }),
    )
    const server = await serve(catalog, {
      limits: { eventLoopDelay: 0 },
      auth: false,
      listing: 'children',
      port: 0,
      log: 'info',
    })
    onTestFinished(() => server.close())
    url = server.url
  })

  const namespace = (headers?: Record<string, string>) =>
    connectNamespace('rest', { uri: url, ...(headers && { headers }) })
  const open = async (name: string, headers?: Record<string, string>) =>
    (await namespace(headers)).openTable(name)
  const idsIn = async (table: Table) =>
    (await table.query().toArray()).map(({ id }) => Number(id)).sort((a, b) => a - b)
  const versionsOf = async (name: string) =>
    (await catalog.listTableVersions({ id: [name] })).versions.map(({ version }) => version)
  /** What sessions were refused; all that clients do must be within what they got. */
  const refusedOnes = () => gate.asked.filter(({ isAllowed }) => !isAllowed)
  const wroteManifests = () =>
    gate.asked.some(({ action, resource }) => action === 's3:PutObject' && resource.includes('/_versions/'))

  it.for(releases)('Lance %s for Python creates, appends to and reads one', async (release, { skip }) => {
    const python = await requirePython(release, skip)
    const script = fileURLToPath(new URL('clients/objects.py', import.meta.url))
    // No credentials but those of the catalog.
    const env = { PATH: process.env.PATH, AWS_EC2_METADATA_DISABLED: 'true' }
    const { stdout } = await promisify(execFile)(python, [script, url, 't'], { env })
    const { uri, versions } = JSON.parse(stdout)
    expect(uri.startsWith(`${root}/tables/`)).toBe(true)
    expect(versions).toEqual([[1], [1, 2, 3], [1, 3]])
    expect(await versionsOf('t')).toEqual([1, 2, 3])
    expect([wroteManifests(), refusedOnes()]).toEqual([true, []])
  })

  it('LanceDB for Node creates, appends to and reads one', async () => {
    const table = await (await namespace()).createTable('t', [{ id: 1 }])
    await table.add([{ id: 2 }])
    const again = await open('t')
    expect(await idsIn(again)).toEqual([1, 2])
    await again.delete('id = 1')
    expect(await idsIn(await open('t'))).toEqual([2])
    expect(await versionsOf('t')).toEqual([1, 2, 3])
    expect([wroteManifests(), refusedOnes()]).toEqual([true, []])
  })

  it('schema metadata that the catalog sets is there, and writers go on from it', async () => {
    const stale = await (await namespace()).createTable('t', [{ id: 1 }])
    await catalog.updateTableSchemaMetadata({ id: ['t'], metadata: { a: '1' } })
    await stale.add([{ id: 2 }])
    const failed = catalog.transaction(async (tx) => {
      await tx.updateTableSchemaMetadata({ id: ['t'], metadata: { a: 'never' } })
      throw new Error('never mind')
    })
    await expect(failed).rejects.toThrow('never mind')
    await catalog.transaction((tx) => tx.updateTableSchemaMetadata({ id: ['t'], metadata: { a: '2' } }))
    const again = await open('t')
    expect((await again.schema()).metadata).toEqual(new Map([['a', '2']]))
    expect(await idsIn(again)).toEqual([1, 2])
    await again.checkout(3)
    expect((await again.schema()).metadata).toEqual(new Map([['a', '1']]))
    expect([await versionsOf('t'), refusedOnes()]).toEqual([[1, 2, 3, 4], []])
  })

  it('no change of writers that race is lost, and none that failed is there', async () => {
    await (await namespace()).createTable('t', [{ id: 0, n: 0 }])
    const done = await Promise.all(
      [1, 2].map(async (writer) => {
        const table = await open('t')
        let counted = 0
        const added: number[] = []
        for (let turn = 0; turn < 3; turn++) {
          const id = writer * 10 + turn
          await table.add([{ id, n: 0 }]).then(
            () => added.push(id),
            () => {},
          )
          await table.update({ where: 'id = 0', valuesSql: { n: 'n + 1' } }).then(
            () => counted++,
            () => {},
          )
        }
        return { counted, added }
      }),
    )
    const rows = await (await open('t')).query().toArray()
    expect(rows.filter(({ id }) => id === 0).map(({ n }) => Number(n))).toEqual([
      done.reduce((sum, { counted }) => sum + counted, 0),
    ])
    const added = done.flatMap((one) => one.added)
    expect(added.length).toBeGreaterThan(0)
    expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(
      [0, ...added].sort((a, b) => a - b),
    )
    const versions = await versionsOf('t')
    expect(versions).toEqual(versions.map((_, i) => i + 1))
  })

  it('a transaction over two of them is there whole, or not at all', async () => {
    const db = await namespace()
    for (const name of ['lines', 'orders']) await db.createTable(name, [{ id: 0 }])
    const both = async (headers?: Record<string, string>) => [
      await idsIn(await open('lines', headers)),
      await idsIn(await open('orders', headers)),
    ]
    const transaction = await HttpTransaction.begin(url)
    for (const name of ['lines', 'orders']) await (await open(name, transaction.headers)).add([{ id: 1 }])
    expect(await both(transaction.headers)).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(await both()).toEqual([[0], [0]])
    expect(await transaction.commit()).toBe(200)
    expect(await both()).toEqual([
      [0, 1],
      [0, 1],
    ])

    const late = await HttpTransaction.begin(url)
    for (const name of ['lines', 'orders']) await (await open(name, late.headers)).add([{ id: 2 }])
    await (await open('lines')).add([{ id: 3 }])
    expect(await late.commit()).toBe(409)
    expect(await both()).toEqual([
      [0, 1, 3],
      [0, 1],
    ])
    expect(refusedOnes()).toEqual([])
  })

  describe('a session of one', () => {
    const vended = async (name: string) => {
      const { location, storage_options: options } = await catalog.describeTable({
        id: [name],
        vend_credentials: true,
      })
      const { bucket, prefix } = /^s3:\/\/(?<bucket>[^/]+)\/(?<prefix>.*)$/.exec(
        decodeURIComponent(location),
      )!.groups as { bucket: string; prefix: string }
      const client = new S3Client({
        endpoint: gate.url,
        forcePathStyle: true,
        region: options!.aws_region!,
        credentials: {
          accessKeyId: options!.aws_access_key_id!,
          secretAccessKey: options!.aws_secret_access_key!,
          sessionToken: options!.aws_session_token!,
        },
      })
      const put = (key: string) => client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: 'x' }))
      const get = (key: string) => client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
      const list = (Prefix: string) => client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix }))
      return { prefix, options: options!, put, get, list }
    }
    const forbidden = { name: expect.stringMatching(/AccessDenied|ExpiredToken/) }

    it('reaches no other, and ends', async () => {
      await catalog.declareTable({ id: ['own'], location: `${root}/a/own` })
      await catalog.declareTable({ id: ['other'], location: `${root}/a/own2` })
      const own = await vended('own')
      await own.put(`${own.prefix}/data/x`)
      expect((await own.list(`${own.prefix}/`)).KeyCount).toBe(1)
      for (const key of [
        `${own.prefix}2/x`,
        `${own.prefix}x`,
        own.prefix.replace('/a/own', '/catalog.json'),
      ]) {
        await expect(own.put(key), key).rejects.toMatchObject(forbidden)
        await expect(own.get(key), key).rejects.toMatchObject(forbidden)
      }
      for (const prefix of ['', own.prefix, `${own.prefix}2/`]) {
        await expect(own.list(prefix), prefix).rejects.toMatchObject(forbidden)
      }
      const [, session] = [...gate.sessions].at(-1)!
      expect(session.until - Date.now()).toBeLessThanOrEqual(3_600_000)
      // The service tells microseconds, which the driver rounds, and the gate cuts off.
      expect(Math.abs(Number(own.options.expires_at_millis) - session.until)).toBeLessThanOrEqual(1)
      session.until = 0
      await expect(own.get(`${own.prefix}/data/x`)).rejects.toMatchObject(forbidden)
    })

    it('has no more when its location is named with stars', async () => {
      await catalog.declareTable({ id: ['star'], location: `${root}/*` })
      await catalog.declareTable({ id: ['dollar'], location: `${root}/\${x}?` })
      for (const name of ['star', 'dollar']) {
        const { prefix, put, list } = await vended(name)
        await put(`${prefix}/x`)
        await list(`${prefix}/`)
        await expect(put(prefix.replace(/[^/]+$/, 'tables/t/x'))).rejects.toMatchObject(forbidden)
        await expect(list(prefix.replace(/[^/]+$/, ''))).rejects.toMatchObject(forbidden)
      }
    })

    it('is not given for a location elsewhere', async () => {
      for (const [name, location] of [
        ['near', `${root}x/t`],
        ['above', 's3://rows/other'],
        ['up', `${root}x/../t`],
      ]) {
        const declared = await catalog.declareTable({
          id: [name!],
          location: location!,
          vend_credentials: true,
        })
        expect(declared).not.toHaveProperty('storage_options')
      }
      expect(gate.sessions.size).toBe(0)
    })

    it('leaves no secret in logs and errors', async () => {
      const written = vi.spyOn(process.stderr, 'write')
      onTestFinished(() => written.mockRestore())
      const table = await (await namespace()).createTable('t', [{ id: 1 }])
      for (const session of gate.sessions.values()) session.until = 0
      const failure = String(
        await table.add([{ id: 2 }]).then(
          () => '',
          (error) => error,
        ),
      )
      // The catalog's own request for a session fails, too.
      gate.refusesSessions = true
      const answer = await fetch(`${url}/v1/table/t/describe`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"vend_credentials":true}',
      })
      expect(answer.status).toBe(500)
      const answered = await answer.text()
      const logged = written.mock.calls.map(([line]) => String(line)).join('')
      expect(logged).toContain('describeTable failed')
      expect(gate.sessions.size).toBeGreaterThan(0)
      expect(logged + answered).not.toContain(process.env.AWS_SECRET_ACCESS_KEY)
      for (const { secret, token } of gate.sessions.values()) {
        for (const text of [logged, failure, answered])
          expect([text.includes(secret), text.includes(token)]).toEqual([false, false])
      }
    })
  })
})

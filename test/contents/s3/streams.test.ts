import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tableFromArrays } from 'apache-arrow'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type LocalCatalog, openCatalog, openContent } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { paths } from '../../../src/testing/suites/content/trial.ts'
import type { Kind } from '../../catalog/rows/children/streams.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { scriptPath } from '../../support/scripts.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { limitEach } from '../../support/time-limit.ts'
import { faultyProxy } from '../faulty-proxy.ts'
import { s3Place } from './server.ts'

// Tens of megabytes reach a bucket. A killed writer's lease lasts a minute.
limitEach(600)

const place = await s3Place()
const missing = missingPostgres ?? (typeof place === 'string' ? place : undefined)
const storage = typeof place === 'string' ? (undefined as never) : await faultyProxy(place.endpoint)
afterAll(() => storage?.close())

const id = ['t']
const length = 50_000
const batch = tableFromArrays({ n: BigInt64Array.from({ length }, (_, i) => BigInt(i)) })
/** More than a fragment has. */
const many = 30

describe.skipIf(missing)(
  `rows that stream into PostgreSQL and S3${missing ? `, left out: ${missing}` : ''}`,
  () => {
    let url: string
    let content: string
    let network: TcpProxy

    beforeEach(async () => {
      storage.decide = () => undefined
      const server = await sharedServer()
      network = await TcpProxy.start(server.port)
      url = await server.freshUrl(network.port)
      if (typeof place !== 'string') content = place.freshUrl(storage.url)
      return () => network.close()
    })

    const open = async () => closedAfterwards(await openCatalog(url as `postgres://${string}`, { content }))
    const script = scriptPath('test/catalog/rows/children/streams.ts')
    const env = () => ({ ...process.env, STREAMED_CONTENT: content })
    const objects = async () => paths(await openContent(content), 'tables/')

    it('leave nothing where their source fails', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ n: 1n }] })
      const before = await objects()
      let written = 0
      async function* failing() {
        for (let i = 0; i < many; i++) yield batch
        await expect.poll(objects).not.toEqual(before)
        written = (await objects()).length
        throw new Error('the well is dry')
      }
      await expect(catalog.insertIntoTable({ id, data: failing() })).rejects.toThrow(/the well is dry/)
      await expect(catalog.createTable({ id: ['u'], data: failing() })).rejects.toThrow(/the well is dry/)
      expect(written).toBeGreaterThan(before.length)
      await expectAlone(catalog, 1, before)
    })

    it('of a killed process leave what a vacuum removes', async () => {
      const catalog = await open()
      await catalog.createTable({ id: ['other'], data: [{ n: 1n }] })
      const before = await objects()
      const child = spawn(process.execPath, [script, 'batches' satisfies Kind, url, '1000000000'], {
        env: env(),
        stdio: 'ignore',
      })
      const ended = once(child, 'close')
      await expect
        .poll(async () => (await objects()).length, { timeout: 300_000 })
        .toBeGreaterThan(before.length)
      child.kill('SIGKILL')
      await ended
      await refused(catalog.countTableRows({ id }), 'TableNotFound')
      // Its lease ends first: until then it may be slow only.
      await expect
        .poll(() => catalog.vacuum({ graceMillis: 0 }).then(objects), { timeout: 300_000, interval: 5_000 })
        .toEqual(before)
      expect(await catalog.verify()).toMatchObject({ ok: true })
      // The name is free.
      await catalog.createTable({ id, data: [{ n: 1n }] })
    })

    it('are all there once, where connections break and requests of storage fail meanwhile', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ n: 1n }] })
      let puts = 0
      let failed = 0
      storage.decide = ({ method }) => {
        if (method !== 'PUT' || puts++ % 3 > 0) return undefined
        failed++
        return { kind: 'answer', status: 503 }
      }
      async function* source() {
        for (let i = 0; i < many; i++) {
          yield batch
          if (i % 10 === 9) network.cut()
        }
        // Also the connection that commits.
        let cuts = 2
        network.onAnswered = () => (cuts-- > 0 ? 0 : undefined)
      }
      await catalog.insertIntoTable({ id, data: source() })
      network.onAnswered = undefined
      storage.decide = () => undefined
      expect(failed).toBeGreaterThan(0)
      await expectAlone(catalog, many * length + 1, undefined, 2)
    })

    /** The table has so many rows and versions, and a vacuum leaves nothing else. */
    async function expectAlone(
      catalog: LocalCatalog,
      rows: number,
      before: readonly string[] | undefined,
      versions = 1,
    ): Promise<void> {
      expect((await catalog.listAllTables({})).tables).toEqual(['t'])
      expect(await catalog.countTableRows({ id })).toEqual({ count: rows })
      expect((await catalog.listTableVersions({ id })).versions).toHaveLength(versions)
      await catalog.vacuum({ graceMillis: 0 })
      if (before !== undefined) expect(await objects()).toEqual(before)
      expect(await catalog.verify()).toMatchObject({ ok: true })
    }
  },
)

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openCatalog, openContent } from '../../../src/tabularium/index.ts'
import { type Fault, faultyProxy, type Passing } from '../../contents/faulty-proxy.ts'
import { s3Place } from '../../contents/s3/server.ts'
import { fillDisk, smallDisk } from '../../contents/small-disk.ts'
import { makeBad, makeGood } from '../../support/bad-network.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { type Place, readInFolder } from './places.ts'
import { HurtServer } from './servers.ts'

/** What went wrong around a server so far. */
export type Faults = Readonly<Record<string, number>>

const diskBytes = 96 * 2 ** 20
/** The most free bytes of a full disk. */
const mostFree = 200 * 1024

/** A catalog on a disk that runs full again and again; a text says why there is none. */
export async function onSmallDisk(): Promise<(Place & { readonly faults: Faults }) | string> {
  const disk = smallDisk(diskBytes)
  if ('reason' in disk) return disk.reason
  const filler = join(disk.path, 'filler')
  const location = join(disk.path, 'catalog')
  const servers = [await HurtServer.start(location)]
  const faults = { full: 0 }
  return {
    location,
    servers,
    faults,
    urls: servers.map(({ url }) => url),
    read: readInFolder,
    async hurt(random, signal) {
      while (!signal.aborted) {
        await sleep(random() * 500)
        await fillDisk(filler, Math.floor(random() * mostFree))
        faults.full++
        await sleep(random() * 500)
        await rm(filler)
      }
    },
    async dispose() {
      for (const server of servers) server.stop()
      disk.unmount()
    },
  }
}

/**
 * A catalog in PostgreSQL with its files in S3, whose connections to both are cut, as are those of its clients; a text says
 * why there is none.
 */
export async function onBadNetwork(seed: number): Promise<(Place & { readonly faults: Faults }) | string> {
  if (missingPostgres !== undefined) return missingPostgres
  const s3 = await s3Place()
  if (typeof s3 === 'string') return s3
  const database = await sharedServer()
  const [beforeDatabase, beforeS3] = [await TcpProxy.start(database.port), await faultyProxy(s3.endpoint)]
  const location = (await database.freshUrl(beforeDatabase.port)) as `postgres://${string}`
  const url = s3.freshUrl(beforeS3.url)
  await (await openCatalog(location, { content: url })).close()
  const servers = [await HurtServer.start(location), await HurtServer.start(location)]
  const clients = await Promise.all(servers.map((server) => TcpProxy.start(Number(new URL(server.url).port))))
  const content = await openContent(url)
  const root = `${url.slice(0, url.indexOf('?'))}/`
  const faults = { database: 0, files: 0, requests: 0, answers: 0 }
  return {
    location,
    servers,
    faults,
    urls: clients.map(({ port }) => `http://127.0.0.1:${port}`),
    read: async (file) => (file.startsWith(root) ? content.get(file.slice(root.length)) : undefined),
    async hurt(random, signal) {
      const network = { delay: 5, held: { share: 0.01, millis: 300 }, resets: 0.01, silences: 0 }
      const counts = makeBad(beforeDatabase, seed, network)
      beforeS3.decide = (passing) => {
        const fault = faultOf(passing, random())
        if (fault !== undefined) faults.files++
        return fault
      }
      for (const proxy of clients) {
        // The request never arrives whole, or its answer is lost.
        proxy.onSent = (bytes) => (random() < 0.02 && ++faults.requests ? random() * bytes.length : undefined)
        proxy.onAnswered = () => (random() < 0.05 && ++faults.answers ? 0 : undefined)
      }
      while (!signal.aborted) await sleep(50)
      for (const proxy of [beforeDatabase, ...clients]) makeGood(proxy)
      beforeS3.decide = () => undefined
      faults.database += counts.resets
    },
    async dispose() {
      for (const server of servers) server.stop()
      for (const proxy of [beforeDatabase, ...clients]) proxy.close()
      await beforeS3.close()
    },
  }
}

function faultOf({ method }: Passing, chance: number): Fault | undefined {
  if (chance < 0.03) return { kind: 'drop' }
  if (chance < 0.06 && method === 'PUT') return { kind: 'lose' }
  if (chance < 0.09) return { kind: 'answer', status: 503 }
  return undefined
}

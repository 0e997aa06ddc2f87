import { readFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { openCatalog, openContent } from '../../../src/tabularium/index.ts'
import { s3Place } from '../../contents/s3/server.ts'
import { temporaryDirectory } from '../../support/folders.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import type { ReadFile } from './history.ts'
import { HurtServer, hurt } from './servers.ts'

/** Servers of one catalog, and what happens to them. */
export interface Place {
  readonly location: string
  /** The URL or folder below which tables of Lance may lie, and what clients need to reach them. */
  readonly lance?: { readonly root: string; readonly storageOptions: Record<string, string> }
  readonly urls: readonly string[]
  readonly read: ReadFile
  /** Hurts the servers until the signal aborts. Afterwards all of them answer. */
  hurt(random: () => number, signal: AbortSignal): Promise<void>
  readonly servers: readonly HurtServer[]
  dispose(): Promise<void>
}

/** Reads a metadata file in a folder. */
export function readInFolder(url: string): Promise<Uint8Array | undefined> {
  return readFile(fileURLToPath(url)).catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** A catalog on disk, with one or more servers that are killed. */
export async function onDisk(args: readonly string[] = [], count = 1): Promise<Place> {
  const folder = await temporaryDirectory()
  const servers: HurtServer[] = []
  while (servers.length < count) servers.push(await HurtServer.start(folder, args))
  return {
    location: folder,
    lance: { root: folder, storageOptions: {} },
    servers,
    urls: servers.map(({ url }) => url),
    read: readInFolder,
    hurt: (random, signal) => hurt(servers, { gap: 4_000, pauses: 0.1 }, random, signal),
    async dispose() {
      for (const server of servers) server.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** A catalog in PostgreSQL with its files in S3, and two servers that are killed or paused; a text says why there is none. */
export async function onServices(args: readonly string[] = []): Promise<Place | string> {
  if (missingPostgres !== undefined) return missingPostgres
  const s3 = await s3Place()
  if (typeof s3 === 'string') return s3
  const location = (await (await sharedServer()).freshUrl()) as `postgres://${string}`
  const url = s3.freshUrl()
  // The catalog keeps the URL of its content, so that the servers find it.
  await (await openCatalog(location, { content: url })).close()
  const servers = [await HurtServer.start(location, args), await HurtServer.start(location, args)]
  const content = await openContent(url)
  const root = `${url.slice(0, url.indexOf('?'))}/`
  return {
    location,
    lance: { root: root.slice(0, -1), storageOptions: s3.lanceOptions },
    servers,
    urls: servers.map((server) => server.url),
    read: async (file) => (file.startsWith(root) ? content.get(file.slice(root.length)) : undefined),
    hurt: (random, signal) => hurt(servers, { gap: 4_000, pauses: 0.5 }, random, signal),
    async dispose() {
      for (const server of servers) server.stop()
    },
  }
}

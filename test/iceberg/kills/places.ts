import { readFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../../support/folders.ts'
import type { ReadFile } from './history.ts'
import { HurtServer, hurt } from './servers.ts'

/** Servers of one catalog, and what happens to them. */
export interface Place {
  readonly location: string
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

/** A catalog on disk whose only server is killed. */
export async function onDisk(args: readonly string[] = []): Promise<Place> {
  const folder = await temporaryDirectory()
  const servers = [await HurtServer.start(folder, args)]
  return {
    location: folder,
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

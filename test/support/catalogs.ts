import { rm } from 'node:fs/promises'
import { describe, onTestFinished } from 'vitest'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { overHttp } from '../client/over-http.ts'
import { temporaryDirectory } from './folders.ts'

/** Opens a fresh, empty catalog that is closed when the test ends. */
export interface Open {
  (options?: CatalogOptions): Promise<LocalCatalog>
  /** Its storage. */
  readonly kind: (typeof matrix)[number]['kind']
  /** Whether it is reached through a client and a server. */
  readonly remote: boolean
}

const matrix = [
  { name: 'memory', kind: 'memory', remote: false, place: () => 'memory:' },
  { name: 'lmdb', kind: 'lmdb', remote: false, place: () => freshFolder() },
  { name: 'memory, over HTTP', kind: 'memory', remote: true, place: () => 'memory:' },
] as const

/**
 * Runs the tests on a catalog in memory, on one in an LMDB directory, and on one in memory that is behind a
 * server.
 */
export function eachCatalog(tests: (open: Open) => void): void {
  for (const entry of matrix) run(entry, tests)
}

/**
 * Like {@link eachCatalog} without the server: for features of local catalogs, such as hooks and progress, for tests
 * with very many calls, and for rules that the exported catalog suite already checks over HTTP.
 */
export function eachLocalCatalog(tests: (open: Open) => void): void {
  for (const entry of matrix) if (!entry.remote) run(entry, tests)
}

function run({ name, kind, remote, place }: (typeof matrix)[number], tests: (open: Open) => void): void {
  describe(`on ${name}`, () => {
    const open = async (options?: CatalogOptions) => {
      const local: LocalCatalog = await openCatalog(await place(), options)
      return closedAfterwards(remote ? await overHttp(local) : local)
    }
    tests(Object.assign(open, { kind, remote }))
  })
}

/** A folder of its own for the running test, removed when the test ends. */
export async function freshFolder(): Promise<string> {
  const folder = await temporaryDirectory()
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Closes the catalog when the running test ends. */
export function closedAfterwards<T extends LocalCatalog>(catalog: T): T {
  onTestFinished(() => catalog.close())
  return catalog
}

/** A manual clock. */
export function stoppedClock(start = Date.UTC(2026, 0, 1)): (() => number) & { move(millis: number): void } {
  let time = start
  return Object.assign(() => time, {
    move: (millis: number) => {
      time += millis
    },
  })
}

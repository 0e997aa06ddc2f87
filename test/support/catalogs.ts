import { rm } from 'node:fs/promises'
import { describe, onTestFinished } from 'vitest'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { coreOf } from '../../src/tabularium/local-handle.ts'
import { overHttp } from '../client/over-http.ts'
import { temporaryDirectory } from './folders.ts'

/** Opens a fresh, empty catalog that is closed when the test ends. */
export interface Open {
  (options?: CatalogOptions): Promise<LocalCatalog>
  /** Its storage. */
  readonly kind: 'memory' | 'lmdb'
  /** Whether it is reached through a client and a server. */
  readonly remote: boolean
}

const matrix = [
  { name: 'memory', kind: 'memory', remote: false },
  { name: 'lmdb', kind: 'lmdb', remote: false },
  { name: 'memory, over HTTP', kind: 'memory', remote: true },
] as const

/**
 * Runs the tests on a catalog in memory, on one in an LMDB directory, and on one in memory that is behind a
 * server.
 */
export function eachCatalog(tests: (open: Open) => void): void {
  for (const { name, kind, remote } of matrix) run(name, kind, remote, tests)
}

/**
 * Like {@link eachCatalog} without the server: for features of local catalogs, such as hooks and progress, for tests
 * with very many calls, and for rules that the exported catalog suite already checks over HTTP.
 */
export function eachLocalCatalog(tests: (open: Open) => void): void {
  for (const { name, kind, remote } of matrix) if (!remote) run(name, kind, remote, tests)
}

function run(name: string, kind: Open['kind'], remote: boolean, tests: (open: Open) => void): void {
  describe(`on ${name}`, () => {
    const open = async (options?: CatalogOptions) => {
      const local =
        kind === 'memory'
          ? await openCatalog('memory:', options)
          : await openCatalog(await freshFolder(), options)
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

/**
 * Makes the catalog clear old records only after a thousand changes, for tests that count its work. By default it
 * begins at a random point within the first thousand changes.
 */
export function withoutUpkeep(catalog: LocalCatalog): void {
  coreOf(catalog).upkeep.changes = 0
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

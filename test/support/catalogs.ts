import { rm } from 'node:fs/promises'
import { describe, onTestFinished } from 'vitest'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { coreOf } from '../../src/tabularium/local-handle.ts'
import { overHttp } from '../client/over-http.ts'
import { temporaryDirectory } from './folders.ts'

/** Opens a fresh, empty catalog that is closed when the test ends. */
export interface Open {
  (options?: CatalogOptions): Promise<LocalCatalog>
  /** Where it lies. */
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
 * As {@link eachCatalog}, for what only a catalog in this process has, such as hooks and progress, and for tests
 * with very many calls. It also does for rules that the exported suite of catalogs judges over HTTP.
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
 * The catalog makes a thousand changes before it clears old records, for tests that count what it does. Others begin with
 * that anywhere within their first thousand changes.
 */
export function withoutUpkeep(catalog: LocalCatalog): void {
  coreOf(catalog).upkeep.changes = 0
}

/** A clock that stands still until it is moved. */
export function stoppedClock(start = Date.UTC(2026, 0, 1)): (() => number) & { move(millis: number): void } {
  let time = start
  return Object.assign(() => time, {
    move: (millis: number) => {
      time += millis
    },
  })
}

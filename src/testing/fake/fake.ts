import type { ServeOptions } from '../../server/index.ts'
import type { MemoryCatalog, MemorySnapshot } from '../../tabularium/open.ts'
import type { Calls } from './calls.ts'
import type { FakeClock } from './clock.ts'
import type { Faults } from './faults.ts'
import type { Seed } from './seed.ts'

/**
 * A deterministic catalog in memory for tests: ids are counted, the clock moves only on request, and random numbers are
 * seeded.
 */
export interface FakeCatalog extends MemoryCatalog {
  readonly clock: FakeClock
  /** The record of its calls. */
  readonly calls: Calls
  /** The faults in force. */
  readonly faults: Faults
  /** Adds content. The calls are not recorded, and faults do not affect them. */
  seed(seed: Seed): Promise<void>
  /** Restores content, clock, ids and faults as of the opening or the fork, and forgets all calls. */
  reset(): void
  /**
   * An independent copy with the current content, clock and ids. It has the same faults, as if they had just been
   * added, and no calls.
   */
  fork(): FakeCatalog
  /** The current content, clock and ids. */
  snapshot(): FakeSnapshot
  /** Restores a snapshot of this fake, or of one that it was forked from. Calls and faults stay. */
  restore(snapshot: FakeSnapshot): void
  /**
   * Serves this fake over HTTP, as {@link fakeServer} does.
   *
   * ```ts
   * await using server = await fake.serve({ iceberg: true })
   * console.log(`${server.url}/iceberg`)
   * ```
   */
  serve(options?: ServedFakeOptions): Promise<FakeServer>
}

/** The state of a fake at one moment. */
export interface FakeSnapshot extends MemorySnapshot {
  readonly time: number
  readonly ids: number
}

/** How a fake is served. All are optional. */
export interface ServedFakeOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Default: 0, which takes a free port. */
  readonly port?: number | undefined
  /** The token that callers must send. Default: no token is needed, and only callers on this machine are served. */
  readonly token?: string | undefined
  /**
   * Whether to serve routes below `/_control`: a test in another process, in any language, adds faults, moves the
   * clock, reads the calls, seeds and resets. Default: false.
   */
  readonly control?: boolean | undefined
  /**
   * Whether to serve Iceberg REST at `/iceberg`. A fake without `icebergFolder` then keeps new tables of Iceberg in a temporary
   * folder, which goes with the fake, or with the process. Default: false.
   */
  readonly iceberg?: boolean | undefined
  /** Further options of `serve`. The default `Retry-After` of 503 responses is 0 seconds. */
  readonly http?: Omit<ServeOptions, 'auth' | 'host' | 'port'> | undefined
}

/** A fake catalog behind HTTP. */
export interface FakeServer extends AsyncDisposable {
  /** Its URL, such as `http://127.0.0.1:41234`. */
  readonly url: string
  readonly token: string | undefined
  /** The fake, which tests may also call directly. */
  readonly catalog: FakeCatalog
  readonly clock: FakeClock
  readonly calls: Calls
  readonly faults: Faults
  seed(seed: Seed): Promise<void>
  reset(): void
  /** A new server on a free port, with a fork of the fake. */
  fork(): Promise<FakeServer>
  /** Releases what faults hold, and closes the server, and the fake unless `catalog` was given. */
  close(): Promise<void>
}

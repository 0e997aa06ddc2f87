import { CatalogError } from '../../base/errors.ts'
import { CachedQuery, QueryTimeout, QueryWithTimeout } from '../../base/scheduling/cached-query.ts'
import type { Catalog } from '../../catalog/index.ts'
import { readStore } from '../../catalog/index.ts'
import type { Log } from '../logger.ts'

/** Times in milliseconds. */
interface Times {
  /** The timeout of a read of the store. */
  readonly answer: number
  /** How long a result is cached. */
  readonly cached: number
}

/**
 * Checks whether the store of a catalog answers. Requests need no credentials, so the check must be cheap: concurrent
 * checks share one read, and its result is cached.
 */
export class Readiness {
  readonly #catalog: Catalog
  readonly #log: Log
  readonly #times: Times
  readonly #storeRead: QueryWithTimeout<unknown>
  readonly #result: CachedQuery<void>
  #isHealthy = true
  #isShuttingDown = false

  constructor(catalog: Catalog, log: Log, times: Times = { answer: 2_000, cached: 1_000 }) {
    this.#catalog = catalog
    this.#log = log
    this.#times = times
    this.#storeRead = new QueryWithTimeout((signal) => this.#read(signal), times.answer)
    this.#result = new CachedQuery(() => this.#checkStore(), times.cached)
  }

  /** Makes each check fail from now on. */
  shutDown(): void {
    this.#isShuttingDown = true
  }

  /** Resolves when the store answers. Fails with `ServiceUnavailable` when it fails or does not answer in time. */
  async check(): Promise<void> {
    if (this.#isShuttingDown) {
      throw new CatalogError(
        'ServiceUnavailable',
        'The server is not ready: it is shutting down. Ask another server.',
      )
    }
    return this.#result.get()
  }

  async #checkStore(): Promise<void> {
    try {
      await this.#storeRead.answer()
      this.#isHealthy = true
    } catch (cause) {
      // Only the log has the cause: it may name hosts, and callers here have no credentials.
      if (this.#isHealthy) this.#log.error({ err: cause }, 'the store of the catalog cannot be read')
      this.#isHealthy = false
      const why =
        cause instanceof QueryTimeout
          ? `gave no answer within ${this.#times.answer / 1_000} s`
          : 'cannot be read, as the log of the server explains'
      throw new CatalogError(
        'ServiceUnavailable',
        `The server is not ready: the store of its catalog ${why}. Ask another server, or try again in a moment.`,
        { cause },
      )
    }
  }

  async #read(signal: AbortSignal): Promise<unknown> {
    const catalog = this.#catalog
    // A catalog behind another server has no store in this process.
    return catalog[readStore]?.() ?? catalog.listNamespaces({ id: [], limit: 1 }, { signal })
  }
}

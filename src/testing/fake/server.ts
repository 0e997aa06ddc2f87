import { invalid } from '../../base/errors.ts'
import type { ServeOptions } from '../../server/index.ts'
import type { Calls } from './calls.ts'
import { type FakeCatalog, type FakeOptions, fakeCatalog } from './catalog.ts'
import type { FakeClock } from './clock.ts'
import type { Faults } from './faults.ts'
import type { Seed } from './seed.ts'

/** The options of a fake server. All are optional. */
export interface FakeServerOptions extends FakeOptions {
  /** The fake to serve. Default: a new one with the other options. */
  readonly catalog?: FakeCatalog | undefined
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

/**
 * Serves a fake catalog over HTTP, on a free port of this machine. The server and the returned handle share one
 * catalog.
 *
 * ```ts
 * await using server = await fakeServer({ seed: { prod: { flights: [{ delay: 75 }] } } })
 * server.faults.add({ operation: 'countTableRows', fail: 'ServiceUnavailable', times: 1 })
 * const response = await fetch(`${server.url}/v1/table/prod$flights/count_rows`, { method: 'POST', body: '{}' })
 * ```
 */
export async function fakeServer(options: FakeServerOptions = {}): Promise<FakeServer> {
  const { catalog: given, host, port = 0, token, control = false, http = {}, ...fake } = options
  const ignored = Object.entries(fake).filter(([, value]) => value !== undefined)
  if (given !== undefined && ignored.length > 0) {
    throw invalid(
      `fakeServer: the catalog is given, so ${ignored.map(([name]) => name).join(', ')} would go unheard. Give that to fakeCatalog.`,
    )
  }
  const catalog = given ?? (await fakeCatalog(fake))
  const [{ serveWith }, { controlRoutes }] = await Promise.all([
    import('../../server/serve.ts'),
    import('./control.ts'),
  ])
  const server = await serveWith(
    catalog,
    {
      ...http,
      // Only a fault makes a fake busy, never the load of the machine.
      limits: { retryAfter: 0, eventLoopDelay: 0, ...http.limits },
      auth: token === undefined ? false : { verify: (given) => (given === token ? owner : undefined) },
      host,
      port,
    },
    control ? controlRoutes(catalog) : undefined,
  )
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      await catalog.faults.clear()
      await server.close()
      if (given === undefined) await catalog.close()
    })()
    return closing
  }
  const { clock, calls, faults, seed, reset } = catalog
  const { url } = server
  const fork = () => forked(catalog.fork(), { host, token, control, http })
  return { url, token, catalog, clock, calls, faults, seed, reset, fork, close, [Symbol.asyncDispose]: close }
}

/** The principal of the fake's token. `verify` allows short tokens, which `tokens` refuses. */
const owner = { name: 'token-1' }

/** A server that closes its fork when it closes. */
async function forked(catalog: FakeCatalog, options: FakeServerOptions): Promise<FakeServer> {
  const server = await fakeServer({ ...options, catalog })
  const close = () => server.close().then(() => catalog.close())
  return { ...server, close, [Symbol.asyncDispose]: close }
}

import { invalid } from '../../base/errors.ts'
import { type FakeOptions, fakeCatalog } from './catalog.ts'
import type { FakeCatalog, FakeServer, ServedFakeOptions } from './fake.ts'
import { serveFake } from './served.ts'

/** The options of a fake server. All are optional. */
export interface FakeServerOptions extends FakeOptions, ServedFakeOptions {
  /** The fake to serve. Default: a new one with the other options. */
  readonly catalog?: FakeCatalog | undefined
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
  const { catalog: given, host, port, token, control, iceberg, http, ...rest } = options
  const served = { host, port, token, control, iceberg, http }
  const ignored = Object.entries(rest).filter(([, value]) => value !== undefined)
  if (given === undefined) return serveFake(await fakeCatalog(rest), served, { closesFake: true })
  if (ignored.length > 0) {
    throw invalid(
      `fakeServer: the catalog is given, so ${ignored.map(([name]) => name).join(', ')} would go unheard. Give that to fakeCatalog.`,
    )
  }
  return serveFake(given, served)
}

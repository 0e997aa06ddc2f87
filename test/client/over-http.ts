import { connect } from '../../src/client/index.ts'
import { fetchHandler } from '../../src/server/index.ts'
import type { Catalog, LocalCatalog } from '../../src/tabularium/index.ts'
import { operations } from '../../src/tabularium/index.ts'

/**
 * The catalog as a client sees it through a server, with no socket between. Upkeep is done on the catalog itself.
 * The headers of responses are left out of answers, so that answers can be compared with those of the catalog.
 */
export async function overHttp(local: LocalCatalog): Promise<LocalCatalog> {
  // No request is put off or sent twice: what a test counts is what the catalog did.
  const handler = await fetchHandler(local, {
    auth: { tokens: ['token-of-the-client'] },
    limits: { inFlight: 100_000, eventLoopDelay: 0 },
  })
  const client = connect('http://catalog.test', { token: 'token-of-the-client', fetch: handler, retries: 0 })
  const remote = Object.assign(withoutHeaders(client), {
    vacuum: local.vacuum,
    verify: local.verify,
    metrics: local.metrics,
    backup: local.backup,
    withBackupLease: local.withBackupLease,
    exportTo: local.exportTo,
    importFrom: local.importFrom,
    transaction: client.transaction,
    isCopy: local.isCopy,
    close: async () => {
      await client.close()
      await handler.close()
      await local.close()
    },
  })
  behind.set(remote, local)
  return remote
}

const behind = new WeakMap<Catalog, Catalog>()

/** The catalog itself, be it behind a server or not: to look at all that is in it without a thousand requests. */
export function itself(catalog: Catalog): Catalog {
  return behind.get(catalog) ?? catalog
}

function withoutHeaders<T extends Catalog>(client: T): T {
  const methods = Object.fromEntries(
    Object.keys(operations).map((name) => {
      const call = client[name as keyof typeof operations] as (...given: unknown[]) => Promise<unknown>
      return [name, async (...given: unknown[]) => withoutHeaderEntries(await call(...given))]
    }),
  )
  // Ways to go over rows and listings are inherited, and call these methods.
  return Object.assign(Object.create(Object.getPrototypeOf(client)), client, methods)
}

/** An answer without the headers that came with it. */
export function withoutHeaderEntries(answer: unknown): unknown {
  const { context, ...rest } = answer as { context?: Record<string, string> }
  const kept = Object.entries(context ?? {}).filter(([key]) => !key.startsWith('header.'))
  return kept.length > 0 ? { ...rest, context: Object.fromEntries(kept) } : rest
}

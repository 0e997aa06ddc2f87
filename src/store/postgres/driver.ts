import type { Client, ClientConfig } from 'pg'
import { CatalogError } from '../../errors.ts'
import type { Address } from './address.ts'

/** Makes connections. The package is loaded when the first catalog in a database is opened. */
export async function loadDriver(): Promise<typeof Client> {
  try {
    const { default: pg } = await import('pg')
    return pg.Client
  } catch (cause) {
    throw new CatalogError(
      'Unsupported',
      'A catalog in PostgreSQL needs the package pg, which cannot be loaded. Install it beside tabularium: npm install pg',
      { cause },
    )
  }
}

export function configOf(address: Address): ClientConfig {
  const { host, port, user, database, ssl, applicationName, connectMillis, answerMillis } = address
  const { channelBinding, options } = address
  const own: ClientConfig & { pipeline: boolean; enableChannelBinding: boolean } = {
    host,
    port,
    user,
    database,
    // The driver hands the function its own settings, which nobody here needs.
    password: (async () => address.password()) as unknown as () => string,
    ssl: ssl as ClientConfig['ssl'],
    application_name: applicationName,
    connectionTimeoutMillis: connectMillis,
    query_timeout: answerMillis,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    enableChannelBinding: channelBinding,
    // Statements are sent without waiting for the answers to those before.
    pipeline: true,
    ...(options !== undefined && { options }),
  }
  return own
}

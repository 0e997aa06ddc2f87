import type { StoreHome } from '../../base/store/home.ts'
import type { Store } from '../../base/store/store.ts'
import { isPostgresUrl, readAddress } from './address.ts'
import { Connection } from './connection.ts'
import { explain } from './failure.ts'
import { isHomeThere } from './home.ts'
import { type MigrationReport, migrate } from './migrate.ts'
import { PostgresStore } from './store.ts'

export type { MigrationReport }
export { isPostgresUrl }

/**
 * Opens the store in a schema of a PostgreSQL database: `postgres://user@host/database?schema=tabularium`. Missing
 * parts of the URL come from the environment (`PGHOST`, `PGPASSWORD` …) and from a password file, as in PostgreSQL's
 * own programs. The schema must have been made by {@link migratePostgres}. Any number of processes on any number of
 * machines may have it open. A resolved write is as durable as the database makes it.
 */
export async function openPostgresStore(url: string): Promise<Store> {
  return PostgresStore.open(await readAddress(url))
}

/**
 * Makes the tables of a catalog in a database, or migrates them to the format of this release. Only this runs such
 * statements, so servers need no permission for them. A second call does nothing.
 */
export async function migratePostgres(url: string): Promise<MigrationReport> {
  return migrate(await readAddress(url))
}

/**
 * Whether the original location of a store still exists. `here` is the location of its copy. Undefined for another
 * server, which cannot be queried.
 */
export async function originalExists(
  url: string,
  home: StoreHome,
  here: StoreHome,
): Promise<boolean | undefined> {
  const address = await readAddress(url)
  const connection = await Connection.open(address, () => {}).catch((error) => {
    throw explain(error, address.label)
  })
  try {
    return await isHomeThere(connection, address, home, here)
  } finally {
    await connection.close()
  }
}

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
 * Opens the store in a schema of a PostgreSQL database: `postgres://user@host/database?schema=tabularium`. What the URL
 * leaves out comes from the environment (`PGHOST`, `PGPASSWORD` …) and from a password file, as for PostgreSQL's own
 * programs. The schema must have been made by {@link migratePostgres}. Any number of processes on any number of
 * machines may have it open. A resolved write is as durable as the database makes it.
 */
export async function openPostgresStore(url: string): Promise<Store> {
  return PostgresStore.open(await readAddress(url))
}

/**
 * Makes the tables of a catalog in a database, or brings them to the format of this release. Nothing else runs such
 * statements, so servers need no right to. Doing it again does nothing.
 */
export async function migratePostgres(url: string): Promise<MigrationReport> {
  return migrate(await readAddress(url))
}

/**
 * Whether the place of a store is still there, where `here` is that of a copy of it. Undefined where it was on another
 * server, which cannot be asked.
 */
export async function isPlaceThere(
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

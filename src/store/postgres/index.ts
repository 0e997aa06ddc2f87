import type { Store } from '../store.ts'
import { isPostgresUrl, readAddress } from './address.ts'
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

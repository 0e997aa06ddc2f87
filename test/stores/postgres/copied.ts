import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { migratePostgres } from '../../../src/stores/postgres/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { type Database, sharedServer } from '../../support/postgres.ts'

/** A catalog in a database of its own, with its rows in a folder of its own. */
export interface Original {
  readonly server: Database
  readonly database: string
  readonly url: string
  /** The folder of the rows, and its URL. */
  readonly rows: string
  readonly content: string
}

/** Makes a catalog in a new database, lets `fill` work with it, and closes it. */
export async function original(fill: (catalog: LocalCatalog) => Promise<unknown>): Promise<Original> {
  const server = await sharedServer()
  const database = freshName()
  await server.query(`CREATE DATABASE ${database}`)
  const url = server.url(database)
  await migratePostgres(url)
  const rows = join(await freshFolder(), 'rows')
  const content = pathToFileURL(rows).href
  const catalog = await openCatalog(url, { content })
  await fill(catalog)
  await catalog.close()
  return { server, database, url, rows, content }
}

/** Copies the database of a catalog that is open nowhere. */
export async function templateOf({ server, database }: Original): Promise<{ database: string; url: string }> {
  const copy = freshName()
  await alone(server, database, `CREATE DATABASE ${copy} TEMPLATE ${database}`)
  await server.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`)
  return { database: copy, url: server.url(copy) }
}

/** Renames a database, which loses all its connections. */
export async function rename(server: Database, from: string, to: string): Promise<void> {
  await alone(server, from, `ALTER DATABASE ${from} RENAME TO ${to}`)
  await server.query(`ALTER DATABASE ${to} ALLOW_CONNECTIONS true`)
}

/** Runs a statement while nobody is connected to a database. Open catalogs would connect again at once. */
async function alone(server: Database, database: string, statement: string): Promise<void> {
  await server.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
  await server.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${database}'`,
  )
  await server.query(statement)
}

export function freshName(): string {
  return `c${randomUUID().replaceAll('-', '')}`
}

/** Each file below a folder, and a hash of what it holds. */
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const hash = createHash('sha256').update(await readFile(path))
    files[path.slice(folder.length + 1)] = hash.digest('hex')
  }
  return files
}

import { CatalogError } from '../../base/errors.ts'
import { isOtherHome, type StoreHome } from '../../base/store/home.ts'
import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Address } from './address.ts'
import type { Connection } from './connection.ts'
import { explain, stateOf, UnfitServer } from './failure.ts'
import { bytesOf } from './key-bytes.ts'
import { named, type Row } from './statements.ts'

/*
 * Facts that distinguish a database from a copy of it. `server` is the system identifier of a database cluster: its
 * standbys and file backups have the same one. `database` and `schema` are their oids. A rename keeps them, and
 * restoring a dump or copying a template makes new ones.
 */

/** The answers to the questions that {@link askHome} sends. */
export type HomeAnswers = readonly [oids: Promise<readonly Row[]>, server: Promise<readonly Row[]>]

/**
 * Queries the location of the database. The second query fails for a user without the permission, and then aborts the
 * transaction. So both come last.
 */
export function askHome(connection: Connection, schema: string): HomeAnswers {
  return [
    connection.send({
      text: `SELECT (SELECT d.oid::text FROM pg_catalog.pg_database d WHERE d.datname = current_database()), (SELECT n.oid::text FROM pg_catalog.pg_namespace n WHERE n.nspname = $1)`,
      values: [schema],
    }),
    // Until the first checkpoint after a failover, the end of the recovery has the timeline.
    connection.send({
      text: 'SELECT s.system_identifier::text, greatest(c.timeline_id, r.min_recovery_end_timeline) FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c, pg_catalog.pg_control_recovery() r',
    }),
  ]
}

/** The location from both answers. */
export function homeOf(
  oids: PromiseSettledResult<readonly Row[]>,
  server: PromiseSettledResult<readonly Row[]>,
): StoreHome {
  if (oids.status === 'rejected') throw oids.reason
  const [database, schema] = oids.value[0] as unknown as [string, string]
  return { ...serverOf(server), database, schema }
}

function serverOf(answer: PromiseSettledResult<readonly Row[]>): StoreHome {
  if (answer.status === 'fulfilled') return { server: (answer.value[0] as unknown as [string])[0] }
  // The operator may have revoked the permission, or removed the function.
  if (['42501', '42883', '0A000'].includes(stateOf(answer.reason) ?? '')) return {}
  throw answer.reason
}

/** The timeline from the second answer. */
export function timelineOf(server: PromiseSettledResult<readonly Row[]>): number | undefined {
  return server.status === 'fulfilled' ? (server.value[0] as unknown as [string, number])[1] : undefined
}

/**
 * Compares the timeline of a new connection with the previous one. Of servers with the same identifier, the one with
 * the latest timeline is the primary. Returns whether the new timeline is later; refuses an earlier one.
 */
export function isLaterServer(was: Engine, is: Engine, label: string): boolean {
  if (was.timeline === undefined || is.timeline === undefined || was.home?.server !== is.home?.server)
    return false
  if (is.timeline >= was.timeline) return is.timeline > was.timeline
  throw new UnfitServer(
    label,
    `another server took over from the one that answers there now (timeline ${is.timeline}, and ${was.timeline} was seen). Let the address lead to the one that took over. If this one takes its place for good, restart this process.`,
  )
}

/**
 * Refuses a connection that reaches another database than the first one did, such as after the address was moved to a
 * copy. Allowed where the catalog was migrated to that database.
 */
export async function requireHome(connection: Connection, address: Address, here: StoreHome): Promise<void> {
  const [row] = await connection.send({
    text: `SELECT value FROM ${named(address.schema, 'records')} WHERE key = $1`,
    values: [Buffer.from(bytesOf(keys.catalog), 'latin1')],
  })
  const record = row && (JSON.parse((row as unknown as [string])[0]) as CatalogRecord)
  if (!isOtherHome(record?.home, here)) return
  throw new CatalogError(
    'ServiceUnavailable',
    `Cannot use ${address.label}: a copy of the database answers there now, and no longer the one that was opened. Let the address lead to that one. If the copy takes its place for good, run \`tabularium migrate\` with its URL and --keep-content.`,
  )
}

/** Whether the database and schema of a home still exist: undefined on another server. */
export async function isHomeThere(
  connection: Connection,
  { label }: Address,
  home: StoreHome,
  here: StoreHome,
): Promise<boolean | undefined> {
  if (home.server === undefined || home.server !== here.server) return undefined
  const isSameDatabase = home.database === here.database
  const [catalog, oid] = isSameDatabase ? ['pg_namespace', home.schema] : ['pg_database', home.database]
  const rows = await connection
    .send({ text: `SELECT 1 FROM pg_catalog.${catalog} WHERE oid::text = $1`, values: [oid] })
    .catch((error) => {
      throw explain(error, label)
    })
  return rows.length > 0
}

/** The server behind a connection, which may be another engine with PostgreSQL's protocol. */
export interface Engine {
  /** Whether table locks serialize writers, as in PostgreSQL itself and in products based on it. */
  readonly hasTurns: boolean
  /** The name and version that the server reports. */
  readonly version: string
  /** Whether a pooler is in between: then the process id differs from the one at the connection's start. */
  readonly isPooled: boolean
  /** Whether commits survive a power cut: `fsync` and `full_page_writes` are on. */
  readonly isDurable: boolean
  /** The location of the database; undefined for engines that are not PostgreSQL. */
  readonly home?: StoreHome
  /** The timeline: each failover to a standby increments it. Undefined where it is unknown. */
  readonly timeline?: number
}

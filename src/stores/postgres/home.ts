import { CatalogError } from '../../base/errors.ts'
import { isElsewhere, type StoreHome } from '../../base/store/home.ts'
import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Address } from './address.ts'
import type { Engine } from './check.ts'
import type { Connection } from './connection.ts'
import { explain, stateOf, UnfitServer } from './failure.ts'
import { bytesOf } from './key-bytes.ts'
import { named, type Row } from './statements.ts'

/*
 * What tells a database from a copy of it. `server` is the number that a cluster of databases gets when it is made:
 * standbys and backups of its files have the same one. `database` and `schema` are the internal numbers of both, which
 * stay when they are renamed, and are new in whatever a dump is restored into, or a template copied into.
 */

/** The answers to the questions that {@link askHome} sends. */
export type HomeAnswers = readonly [oids: Promise<readonly Row[]>, server: Promise<readonly Row[]>]

/**
 * Asks where a connection leads to. The second question may fail where the user may not ask it, and then ends the
 * transaction: so both come last.
 */
export function askHome(connection: Connection, schema: string): HomeAnswers {
  return [
    connection.send({
      text: `SELECT (SELECT d.oid::text FROM pg_catalog.pg_database d WHERE d.datname = current_database()), (SELECT n.oid::text FROM pg_catalog.pg_namespace n WHERE n.nspname = $1)`,
      values: [schema],
    }),
    // Until the first checkpoint after a standby took over, the end of its recovery tells its timeline.
    connection.send({
      text: 'SELECT s.system_identifier::text, greatest(c.timeline_id, r.min_recovery_end_timeline) FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c, pg_catalog.pg_control_recovery() r',
    }),
  ]
}

/** The place that both answers tell. */
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
  // Who runs the server may have taken the right to ask away, or the function.
  if (['42501', '42883', '0A000'].includes(stateOf(answer.reason) ?? '')) return {}
  throw answer.reason
}

/** The timeline that the second answer tells. */
export function timelineOf(server: PromiseSettledResult<readonly Row[]>): number | undefined {
  return server.status === 'fulfilled' ? (server.value[0] as unknown as [string, number])[1] : undefined
}

/**
 * Judges the timeline of a new connection: of servers with one number, the one that took over last is the one to use.
 * Returns whether it is later than that of the connections before.
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
 * Refuses a connection of an open store that leads elsewhere than the first one did, such as after an address was given
 * to a copy. Where the catalog was told to live there from now on, it may go on.
 */
export async function requireHome(connection: Connection, address: Address, here: StoreHome): Promise<void> {
  const [row] = await connection.send({
    text: `SELECT value FROM ${named(address.schema, 'records')} WHERE key = $1`,
    values: [Buffer.from(bytesOf(keys.catalog), 'latin1')],
  })
  const record = row && (JSON.parse((row as unknown as [string])[0]) as CatalogRecord)
  if (!isElsewhere(record?.home, here)) return
  throw new CatalogError(
    'ServiceUnavailable',
    `Cannot use ${address.label}: a copy of the database answers there now, and no longer the one that was opened. Let the address lead to that one. If the copy takes its place for good, run \`tabularium migrate\` with its URL and --keep-content.`,
  )
}

/** Whether the place of a home is still there, as far as can be told from a connection: undefined on another server. */
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

import { CatalogError, unsupported } from '../../base/errors.ts'
import type { Address } from './address.ts'
import type { Connection } from './connection.ts'
import { refusalOfEngine, UnfitServer } from './failure.ts'
import type { Engine } from './home.ts'
import { askHome, homeOf, timelineOf } from './home.ts'
import { allFunctions, ownFunctions, ownFunctionsOf, storeFormat } from './schema.ts'
import { begin, end, named } from './statements.ts'

/** Checks a new connection: it must reach a primary server, and a catalog of this release's format. */
export async function check(connection: Connection, address: Address): Promise<Engine> {
  const { schema, label } = address
  // In a transaction, so that a pooler in statement mode fails here, and not in the middle of a change.
  const [begun, asked, oids, server] = await Promise.allSettled([
    connection.send(begin),
    connection.send({
      text: `SELECT pg_is_in_recovery(), max(version), pg_backend_pid(), version(), (${ownFunctions}), current_setting('fsync') = 'off' OR current_setting('full_page_writes') = 'off', current_setting('server_encoding') FROM ${named(schema, 'format')}`,
      values: ownFunctionsOf(schema),
    }),
    ...askHome(connection, schema),
    connection.sendEnd(end),
  ])
  if (begun.status === 'rejected') throw begun.reason
  if (asked.status === 'rejected') throw refusalOfEngine(asked.reason, label)
  const [row] = asked.value
  const [isStandby, format, process, version, functions, isLossy, encoding] = row as unknown as [
    boolean,
    number | null,
    number,
    string,
    number,
    boolean,
    string,
  ]
  refuseStandby(isStandby, label)
  requireFormat(format, label)
  refuseOneSession(version, label)
  refuseEncoding(encoding, label)
  const engine = engineOf(version, process !== connection.process, !isLossy)
  // Other engines may store the source of functions in another form.
  if (engine.hasTurns && functions < allFunctions) throw foreignFunctions(label)
  if (!engine.hasTurns) return engine
  const timeline = timelineOf(server)
  return { ...engine, home: homeOf(oids, server), ...(timeline !== undefined && { timeline }) }
}

/**
 * Refuses PGlite behind a socket. All its connections share one session. When one ends in the middle of a statement,
 * the others get wrong answers.
 */
export function refuseOneSession(version: string, label: string): void {
  if (!/\bPGlite\b/i.test(version)) return
  throw unsupported(
    `Cannot use ${label}: the server is PGlite, whose connections share one session and may get the answers of each other.`,
    'Use a PostgreSQL server, or a directory.',
  )
}

export function engineOf(version: string, isPooled = false, isDurable = true): Engine {
  const hasTurns = /^PostgreSQL/.test(version) && !/-YB-|Cockroach/i.test(version)
  return { hasTurns, version, isPooled, isDurable }
}

export function refuseStandby(isStandby: boolean, label: string): void {
  if (!isStandby) return
  throw new UnfitServer(
    label,
    'the server is a standby, which lags behind what was acknowledged. Name the primary server.',
  )
}

export function refuseEncoding(encoding: string, label: string): void {
  if (/^UTF-?8$/i.test(encoding)) return
  throw new CatalogError(
    'InvalidInput',
    `Cannot use ${label}: the database has the encoding ${encoding}. Create it with ENCODING 'UTF8'.`,
  )
}

export function requireFormat(format: number | null, label: string): void {
  if (format === storeFormat) return
  if (format !== null && format > storeFormat) throw newerFormat(format, label)
  throw new CatalogError(
    'InvalidInput',
    `Cannot use ${label}: its tables have format ${format ?? 0}, and this release uses format ${storeFormat}. Run \`tabularium migrate\` with its URL.`,
  )
}

export function newerFormat(format: number, label: string): CatalogError {
  return unsupported(
    `Cannot use ${label}: its tables have format ${format}, made by a newer release; this one knows format ${storeFormat}.`,
    'Use that release.',
  )
}

function foreignFunctions(label: string): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `Cannot use ${label}: its functions are missing, or are those of a schema of another name. It was renamed, or not all of it was restored. Run \`tabularium migrate\` with its URL, which makes them anew.`,
  )
}

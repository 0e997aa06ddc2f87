import { CatalogError } from '../../errors.ts'
import type { Address } from './address.ts'
import type { Connection } from './connection.ts'
import { refusalOfEngine } from './failure.ts'
import { storeFormat } from './schema.ts'
import { named } from './statements.ts'

/** What speaks PostgreSQL's language at the other end. */
export interface Engine {
  /** Whether locks of tables make writers take turns: in PostgreSQL itself, and in what is made of it. */
  readonly hasTurns: boolean
  /** The name and version that it gives. */
  readonly version: string
}

/** Judges a new connection: it must lead to a primary server, and to a catalog of this release's format. */
export async function check(connection: Connection, address: Address): Promise<Engine> {
  const { schema, label } = address
  const asked = connection.send({
    text: `SELECT pg_is_in_recovery(), max(version), NULL, version() FROM ${named(schema, 'format')}`,
  })
  const [row] = await asked.catch((error) => {
    throw refusalOfEngine(error, label)
  })
  const [isStandby, format, , version] = row as unknown as [boolean, number | null, null, string]
  refuseStandby(isStandby, label)
  requireFormat(format, label)
  refuseOneSession(version, label)
  return engineOf(version)
}

/**
 * Refuses PGlite behind its socket. All its connections share one session: when one of them ends in the middle of a
 * statement, others get the answers of each other.
 */
export function refuseOneSession(version: string, label: string): void {
  if (!/\bPGlite\b/i.test(version)) return
  throw new CatalogError(
    'Unsupported',
    `Cannot use ${label}: the server is PGlite, whose connections share one session and may get the answers of each other. Use a PostgreSQL server, or a directory.`,
  )
}

export function engineOf(version: string): Engine {
  return { hasTurns: /^PostgreSQL/.test(version) && !/-YB-|Cockroach/i.test(version), version }
}

export function refuseStandby(isStandby: boolean, label: string): void {
  if (!isStandby) return
  throw new CatalogError(
    'ServiceUnavailable',
    `Cannot use ${label}: the server is a standby, which lags behind what was acknowledged. Name the primary server.`,
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
  return new CatalogError(
    'Unsupported',
    `Cannot use ${label}: its tables have format ${format}, made by a newer release; this one knows format ${storeFormat}. Use that release.`,
  )
}

import { invalid } from '../../base/errors.ts'
import type { Address } from './address.ts'
import { newerFormat, refuseEncoding, refuseOneSession, refuseStandby } from './check.ts'
import { Connection } from './connection.ts'
import { explain, refusalOfEngine, stateOf } from './failure.ts'
import { allFunctions, functionsOf, ownFunctions, ownFunctionsOf, stepsTo, storeFormat } from './schema.ts'
import { beginMigration, named, quoted } from './statements.ts'

/** The result of a migration. */
export interface MigrationReport {
  /** The format of the tables before; null when there were none. */
  readonly from: number | null
  /** The format of the tables now. */
  readonly to: number
}

/**
 * Makes the schema and its tables, or migrates them to this release's format, in one transaction. Recreates functions
 * that are missing, or that use a former name of the schema.
 */
export async function migrate(address: Address): Promise<MigrationReport> {
  const { schema, label } = address
  const connection = await Connection.open(address, () => {}).catch((error) => {
    throw explain(error, label)
  })
  try {
    await requireServer(connection, label)
    await connection.send(beginMigration)
    // Concurrent migrations run one after the other. Engines that ignore the lock make one of them fail.
    await connection.send({ text: 'SELECT pg_advisory_xact_lock(7237389, hashtext($1))', values: [schema] })
    const from = await formatOf(connection, schema)
    if (from !== null && from > storeFormat) throw newerFormat(from, label)
    if (from !== storeFormat) {
      // A user without the permission to create schemas may still use an existing one.
      if (!(await hasSchema(connection, schema))) {
        await connection.send({ text: `CREATE SCHEMA ${quoted(schema)}` })
      }
      for (const step of stepsTo(schema).slice(from ?? 0)) await connection.send({ text: step })
    } else {
      const [row] = await connection.send({ text: ownFunctions, values: ownFunctionsOf(schema) })
      if (Number(row![0]) < allFunctions)
        await connection.send({ text: functionsOf(schema, 'CREATE OR REPLACE') })
    }
    await connection.sendEnd({ text: 'COMMIT' })
    return { from, to: storeFormat }
  } catch (error) {
    throw refusalOf(error, label)
  } finally {
    await connection.close()
  }
}

async function requireServer(connection: Connection, label: string): Promise<void> {
  const asked = connection.send({
    text: `SELECT pg_is_in_recovery(), current_setting('server_encoding'), current_setting('server_version_num')::integer, version()`,
  })
  const [row] = await asked.catch((error) => {
    throw refusalOfEngine(error, label)
  })
  const [isStandby, encoding, version, name] = row as unknown as [boolean, string, number, string]
  refuseStandby(isStandby, label)
  refuseOneSession(name, label)
  refuseEncoding(encoding, label)
  if (version < 120_000) {
    throw invalid(`Cannot use ${label}: the server is older than PostgreSQL 12. Use a newer one.`)
  }
}

async function hasSchema(connection: Connection, schema: string): Promise<boolean> {
  const rows = await connection.send({
    text: 'SELECT 0 FROM pg_catalog.pg_namespace WHERE nspname = $1',
    values: [schema],
  })
  return rows.length > 0
}

/** The format of the tables in a schema; null when there are none. */
async function formatOf(connection: Connection, schema: string): Promise<number | null> {
  const found = await connection.send({
    text: 'SELECT to_regclass($1) IS NOT NULL',
    values: [named(schema, 'format')],
  })
  if (!(found[0] as unknown as [boolean])[0]) return null
  const rows = await connection.send({ text: `SELECT max(version) FROM ${named(schema, 'format')}` })
  return (rows[0] as unknown as [number | null])[0]
}

function refusalOf(error: unknown, label: string): Error {
  const state = stateOf(error)
  if (state === '42P07' || state === '42723') {
    return invalid(
      `Cannot use ${label}: the schema holds tables or functions that are not a catalog's. Name another one by ?schema=.`,
      { cause: error },
    )
  }
  if (state === '42501') {
    return explain(
      Object.assign(new Error('No privilege to migrate.', { cause: error }), {
        code: '42501',
        severity: 'ERROR',
      }),
      label,
    )
  }
  return explain(error, label)
}

import type { Command } from 'commander'
import { openCatalog } from '../index.ts'
import { isDatabaseUrl } from '../model/location.ts'
import type { Io } from './io.ts'
import { locationArgument } from './locations/location-argument.ts'
import { maintenanceCommand } from './maintenance.ts'
import { printerOf } from './print.ts'
import { UsageError } from './usage.ts'

interface Typed {
  readonly json?: boolean
  readonly content?: string
}

/** The command that makes the tables of a catalog in a database, or brings them up to date. */
export function migrateCommand(io: Io): Command {
  return maintenanceCommand(
    'migrate',
    'Prepare a database for a catalog.',
    'Makes the schema and its tables, or brings them to the format of this release, in one transaction. Doing it again does nothing. No other command runs such statements. The password may lie in PGPASSWORD or in a password file.',
    '  $ tabularium migrate postgres://admin@db.example/tables --content s3://bucket/prefix\n  $ tabularium serve postgres://app@db.example/tables\n',
  )
    .addArgument(
      locationArgument('<location>', 'URL of a database; ?schema=… names a schema other than tabularium'),
    )
    .option('--content <url>', 'make the catalog too, with its rows there: s3://bucket/prefix')
    .action(async (location: string, { json, content }: Typed) => {
      if (!isDatabaseUrl(location))
        throw new UsageError('migrate takes the URL of a database: postgres://user@host/database')
      const { migratePostgres } = await import('../store/postgres/index.ts')
      const printer = printerOf(io, json)
      const report = await migratePostgres(location)
      if (content !== undefined) await (await openCatalog(location, { content })).close()
      printer.one({ ...report })
      printer.end()
      if (content === undefined && report.from === null) {
        io.stderr.write(
          'The database is ready and has no catalog yet. Make one with --content of migrate or serve, which says where its rows lie: s3://bucket/prefix or file:///folder.\n',
        )
      }
    })
}

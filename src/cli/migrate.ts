import type { Command } from 'commander'
import { isDatabaseUrl, shownLocation } from '../base/model/location.ts'
import { requireReachable } from '../tabularium/content-root.ts'
import { adoptContent, keepContent, openCatalog } from '../tabularium/index.ts'
import { type Io, unlessInterrupted } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { maintenanceCommand } from './maintenance.ts'
import { printerOf } from './print.ts'
import { tellingRest, withProgress } from './progress.ts'
import { UsageError } from './usage.ts'

interface Typed {
  readonly json?: boolean
  readonly content?: string
  readonly adoptContent?: string
  readonly isCopy?: boolean
  readonly keepContent?: boolean
}

const examples = `  $ tabularium migrate postgres://admin@db.example/tables --content s3://bucket/prefix
  $ tabularium serve postgres://app@db.example/tables
  $ tabularium migrate postgres://admin@staging.example/tables --adopt-content s3://staging/prefix
`

/** The command that creates or migrates the tables of a catalog in a database. */
export function migrateCommand(io: Io): Command {
  return maintenanceCommand(
    'migrate',
    'Prepare a database for a catalog.',
    'Makes the schema and its tables, or brings them to the format of this release, in one transaction. Doing it again does nothing. No other command runs such statements. The password may lie in PGPASSWORD or in a password file. A catalog whose database was restored or copied elsewhere is for reading only, until --adopt-content or --keep-content says whose its rows are.',
    examples,
  )
    .addArgument(
      locationArgument('<location>', 'URL of a database; ?schema=… names a schema other than tabularium'),
    )
    .option('--content <url>', 'make the catalog too, with its rows there: s3://bucket/prefix')
    .option(
      '--adopt-content <url>',
      'give a copy of a catalog an id and rows of its own there; copies what is not there yet (again, if interrupted)',
    )
    .option(
      '--is-copy',
      'with --adopt-content: the database is a copy, though nothing tells, as after a snapshot of its disk',
    )
    .option(
      '--keep-content',
      'the database that this copy comes from is gone for good: keep the rows where they are',
    )
    .action(async (location: string, typed: Typed) => {
      checkOptions(location, typed)
      const { json, content } = typed
      // Refused before the schema is made.
      const rows = content ?? typed.adoptContent
      if (rows !== undefined) await unlessInterrupted(requireReachable(rows), io)
      const { migratePostgres } = await import('../stores/postgres/index.ts')
      const printer = printerOf(io, json)
      // One transaction: what is interrupted is done whole, or not at all, and may be done again.
      const report = await unlessInterrupted(migratePostgres(location), io)
      if (content !== undefined) await unlessInterrupted(beginCatalog(location, content), io)
      printer.one({ ...report, ...(await settleContent(location, typed, io)) })
      printer.end()
      if (content === undefined && report.from === null) {
        io.stderr.write(
          'The database is ready and has no catalog yet. Make one with --content of migrate or serve, which says where its rows lie: s3://bucket/prefix or file:///folder.\n',
        )
      }
    })
}

/** Makes the catalog of a database, where it has none. */
async function beginCatalog(location: string, content: string): Promise<void> {
  await (await openCatalog(location, { content })).close()
}

function checkOptions(location: string, { content, adoptContent, isCopy, keepContent }: Typed): void {
  if (!isDatabaseUrl(location))
    throw new UsageError('migrate takes the URL of a database: postgres://user@host/database')
  if ([content, adoptContent, keepContent].filter((given) => given !== undefined).length > 1)
    throw new UsageError('give one of --content, --adopt-content and --keep-content')
  if (isCopy && adoptContent === undefined) throw new UsageError('--is-copy needs --adopt-content')
}

/** Adopts or keeps the content of a restored or copied database, as the options say. Returns the report. */
async function settleContent(
  location: string,
  { adoptContent: url, isCopy, keepContent: isKept }: Typed,
  io: Io,
): Promise<object> {
  if (isKept) {
    const kept = await unlessInterrupted(keepContent(location), io)
    if (kept) {
      io.stderr.write(
        `The catalog lives in ${shownLocation(location)} from now on, with the rows that it has. Never open the database that it was copied from again.\n`,
      )
    }
    return { kept }
  }
  if (url === undefined) return {}
  let done = 0
  const adopting = withProgress(io, (show) =>
    adoptContent(location, url, {
      isCopy,
      signal: io.signal,
      onProgress: ({ tables, objects, copied, bytes }) => {
        done = copied
        show(
          () =>
            `${tables} tables, ${objects.toLocaleString('en')} files, ${copied.toLocaleString('en')} copied, ${(bytes / 1e6).toFixed(1)} MB`,
        )
      },
    }),
  )
  const adopted = await tellingRest(io, adopting, () =>
    done > 0 ? 'What was copied stays. Run it again: it copies what is not there yet.' : undefined,
  )
  if (adopted.elsewhere > 0) {
    io.stderr.write(
      `${adopted.elsewhere === 1 ? 'One table has' : `${adopted.elsewhere.toLocaleString('en')} tables have`} rows outside of the content, where the original has them, too. This catalog leaves them alone.\n`,
    )
  }
  return { adopted }
}

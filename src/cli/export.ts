import { type Command, Option } from 'commander'
import { type CatalogError, unsupported } from '../base/errors.ts'
import { copyCatalog, type ExportReport, type ImportReport, importTables } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { maintenanceCommand } from './maintenance.ts'
import { toMoment } from './moment.ts'
import { isUrl, openLocal, openLocation, requireDirectory } from './open.ts'
import { printerOf } from './print.ts'
import { counted, withProgress } from './progress.ts'

interface Typed {
  readonly history?: boolean
  readonly at?: string
  readonly format?: 'arrow' | 'parquet'
  readonly token?: string
  readonly apiKey?: string
  readonly json?: boolean
}

/** The command that writes a catalog as plain files. */
export function exportCommand(io: Io): Command {
  return maintenanceCommand(
    'export',
    'Write a catalog as plain files.',
    'Writes a folder for each namespace and table, with a JSON file that describes it, and rows as Arrow or Parquet files, or as files of Lance. The command import reads all of them. Rows that the catalog cannot reach, or that another engine wrote, are left out: then the command names the tables, and the exit code is 1. So it is for tables of Iceberg whose files stay in the catalog.',
    '  $ tabularium export ./catalog ./files\n  $ tabularium export ./catalog ./files --history\n  $ tabularium export ./catalog ./files --at "1 day ago"\n  $ tabularium export ./catalog ./files --format parquet\n',
  )
    .addArgument(locationArgument('<location>', 'directory of a catalog, or postgres://…'))
    .argument('<folder>', 'folder for the files, which must not exist yet')
    .option('--history', 'write the rows of all versions, not only of the latest')
    .addOption(
      new Option(
        '--at <time>',
        'write the versions of a time: 2026-11-01T00:00:00Z, or "1 hour ago"',
      ).argParser(toMoment),
    )
    .addOption(
      new Option('--format <format>', 'format of the rows').choices(['arrow', 'parquet']).default('arrow'),
    )
    .action(async (location: string, folder: string, { history, at, format, json }: Typed) => {
      await using catalog = await openLocal(location, false)
      const report = await withProgress(io, (show) =>
        catalog.exportTo(folder, {
          history,
          at,
          format,
          signal: io.signal,
          onProgress: shownBy(show),
        }),
      )
      print(report, io, json)
      requireWhole(report, 'exported')
    })
}

/** The command that imports an export into a catalog. */
export function importCommand(io: Io): Command {
  return maintenanceCommand(
    'import',
    'Import an export into a catalog.',
    'An import into a directory is one change, with versions, tags and branches. An import into a server goes table by table, with the latest rows only, and is refused where tables come as files of Lance. Tables whose rows the export does not have come without rows: then the command names them, and the exit code is 1.',
    '  $ tabularium import ./files ./catalog\n  $ tabularium import ./files http://127.0.0.1:2333\n',
  )
    .argument('<folder>', 'folder of an export')
    .addArgument(
      locationArgument(
        '<location>',
        'directory of a catalog, created when missing, or the URL of a database or of a server',
      ),
    )
    .option('--token <token>', 'token for a server (or TABULARIUM_TOKEN)')
    .option('--api-key <key>', 'key for a server (or TABULARIUM_API_KEY)')
    .action(async (folder: string, location: string, { token, apiKey, json }: Typed) => {
      const report = await withProgress(io, async (show) => {
        const options = {
          signal: io.signal,
          onProgress: shownBy(show),
        }
        if (!isUrl(location)) {
          await using catalog = await openLocal(location, true, {}, io)
          return await catalog.importFrom(folder, options)
        }
        await using catalog = await openLocation(location, false, {
          token: token ?? io.env.TABULARIUM_TOKEN,
          apiKey: apiKey ?? io.env.TABULARIUM_API_KEY,
        })
        return await importTables(catalog, folder, options)
      })
      print(report, io, json)
      if (report.withoutRows.length > 0)
        throw incomplete(report.withoutRows.length, 'imported', 'of which the export has none')
    })
}

/** The command that copies a catalog into an empty one. */
export function copyCommand(io: Io): Command {
  return maintenanceCommand(
    'copy',
    'Copy a catalog into another one, with its history.',
    'Copies all namespaces and tables with their versions, tags and branches, as they are at one moment, while others read and write. Tables of Lance come with their files. Tables whose rows the catalog cannot reach, or that another engine wrote, come without rows: then the command says where they lie, and the exit code is 1. Tables of Iceberg come with their versions, and share their files with the source; the exit code is 1 when these lie in the source. The target must be empty. It holds all of the copy in the end, or nothing: if the command is interrupted, run it again.',
    '  $ tabularium copy ./catalog postgres://app@db.example/tables --content s3://bucket/prefix\n  $ tabularium copy postgres://app@db.example/tables ./catalog\n',
  )
    .addArgument(locationArgument('<source>', 'directory of a catalog, or postgres://…'))
    .addArgument(
      locationArgument(
        '<target>',
        'directory, created when missing, or postgres://… that migrate has prepared',
      ),
    )
    .option('--content <url>', 'where the rows of the copy are to lie, as for serve')
    .action(async (source: string, target: string, { content, json }: Typed & { content?: string }) => {
      requireDirectory(target)
      await using from = await openLocal(source, false)
      const report = await withProgress(io, (show) =>
        copyCatalog(from, target, {
          content,
          signal: io.signal,
          onProgress: shownBy(show),
        }),
      )
      const { withoutRows, inPlace, ...copied } = report
      for (const id of withoutRows) {
        // The copy declares the table at the same location.
        const { location } = await from.describeTable({ id }).catch(() => ({ location: 'an unknown place' }))
        io.stderr.write(`without rows: ${id.join('.')}, whose rows lie at ${location}\n`)
      }
      print({ ...copied, withoutRows: [], inPlace }, io, json)
      requireWhole(report, 'copied')
    })
}

/** Throws where rows were left out, or lie where they go with the source. */
function requireWhole(
  { withoutRows, inPlace }: Pick<ExportReport, 'withoutRows' | 'inPlace'>,
  what: string,
): void {
  const left = withoutRows.length + inPlace.filter(({ inSource }) => inSource).length
  if (left > 0) throw incomplete(left, what, 'which lie outside of the catalog or are of another engine')
}

/** The error at the end of work that was done, but for the rows of some tables. */
export function incomplete(count: number, what: string, which: string): CatalogError {
  return unsupported(
    `All was ${what} but the rows of ${counted(count, 'table')}, ${which}. They are named above.`,
    'Copy these rows with what wrote them, and keep the source until then.',
  )
}

type Show = Parameters<Parameters<typeof withProgress>[1]>[0]

function shownBy(show: Show) {
  return ({ tables, rows }: { readonly tables: number; readonly rows: number }) =>
    show(() => `${counted(tables, 'table')}, ${counted(rows, 'row')}`)
}

/** Prints the report. Names tables without rows, and those whose files stay in place, on standard error. */
function print(
  { withoutRows, inPlace, ...report }: Pick<ImportReport, 'withoutRows' | 'inPlace'>,
  io: Io,
  json: boolean | undefined,
): void {
  for (const { id, location } of inPlace)
    io.stderr.write(`in place: ${id.join('.')}, whose files stay at ${location}\n`)
  for (const id of withoutRows) io.stderr.write(`without rows: ${id.join('.')}\n`)
  const printer = printerOf(io, json)
  printer.one(report)
  printer.end()
}

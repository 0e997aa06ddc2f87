import type { Command } from 'commander'
import { importTables } from '../index.ts'
import type { Io } from './io.ts'
import { maintenanceCommand } from './maintenance.ts'
import { isUrl, openLocal, openLocation } from './open.ts'
import { printerOf } from './print.ts'
import { withProgress } from './progress.ts'

interface Typed {
  readonly history?: boolean
  readonly token?: string
  readonly apiKey?: string
  readonly json?: boolean
}

/** The command that writes a catalog as plain files. */
export function exportCommand(io: Io, signal: AbortSignal): Command {
  return maintenanceCommand(
    'export',
    'Write a catalog as plain files.',
    'Writes a folder for each namespace and table, with a JSON file that describes it, and rows as Arrow files.',
    '  $ tabularium export ./catalog ./files\n  $ tabularium export ./catalog ./files --history\n',
  )
    .argument('<location>', 'directory of a catalog, or postgres://…')
    .argument('<folder>', 'folder for the files, which must not exist yet')
    .option('--history', 'write the rows of all versions, not only of the latest')
    .action(async (location: string, folder: string, { history, json }: Typed) => {
      await using catalog = await openLocal(location, false)
      const { withoutRows, ...report } = await withProgress(io, (show) =>
        catalog.exportTo(folder, {
          history,
          signal,
          onProgress: ({ tables, rows }) => show(() => `${tables} tables, ${rows.toLocaleString('en')} rows`),
        }),
      )
      for (const id of withoutRows) io.stderr.write(`without rows: ${id.join('.')}\n`)
      const printer = printerOf(io, json)
      printer.one(report)
      printer.end()
    })
}

/** The command that imports an export into a catalog. */
export function importCommand(io: Io, signal: AbortSignal): Command {
  return maintenanceCommand(
    'import',
    'Import an export into a catalog.',
    'An import into a directory is one change, with versions, tags and branches. An import into a server goes table by table, with the latest rows only.',
    '  $ tabularium import ./files ./catalog\n  $ tabularium import ./files http://127.0.0.1:2333\n',
  )
    .argument('<folder>', 'folder of an export')
    .argument(
      '<location>',
      'directory of a catalog, created when missing, or the URL of a database or of a server',
    )
    .option('--token <token>', 'token for a server (or TABULARIUM_TOKEN)')
    .option('--api-key <key>', 'key for a server (or TABULARIUM_API_KEY)')
    .action(async (folder: string, location: string, { token, apiKey, json }: Typed) => {
      const { withoutRows, ...report } = await withProgress(io, async (show) => {
        const options = {
          signal,
          onProgress: ({ tables, rows }: { tables: number; rows: number }) =>
            show(() => `${tables} tables, ${rows.toLocaleString('en')} rows`),
        }
        if (!isUrl(location)) {
          await using catalog = await openLocal(location, true)
          return await catalog.importFrom(folder, options)
        }
        await using catalog = await openLocation(location, false, {
          token: token ?? io.env.TABULARIUM_TOKEN,
          apiKey: apiKey ?? io.env.TABULARIUM_API_KEY,
        })
        return await importTables(catalog, folder, options)
      })
      for (const id of withoutRows) io.stderr.write(`without rows: ${id.join('.')}\n`)
      const printer = printerOf(io, json)
      printer.one(report)
      printer.end()
    })
}

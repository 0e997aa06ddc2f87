import type { Command } from 'commander'
import type { Io } from '../io.ts'
import { toNumber } from '../options.ts'
import { arrowRows } from '../rows/arrow.ts'
import { addVersionOptions, tableCommand, type VersionOptions, versionFields } from './table-command.ts'

/** The command that shows the first rows of a table. */
export function headCommand(io: Io, signal: AbortSignal): Command {
  const command = tableCommand<VersionOptions & { readonly rows: number }>(
    {
      name: 'head',
      group: 'Rows',
      summary: 'Show the first rows of a table.',
      description: 'They come in the order they were inserted. The command query picks rows and columns.',
      examples: ['./catalog prod.flights', './catalog prod.flights -n 3 --tag stable'],
    },
    io,
    signal,
    async ({ catalog, id, typed, printer, options }) => {
      const { data } = await catalog.queryTable({ id, limit: typed.rows, ...versionFields(typed) }, options)
      printer.rows(arrowRows(data))
    },
  )
  return addVersionOptions(command.option('-n, --rows <number>', 'how many rows', toNumber, 10))
}

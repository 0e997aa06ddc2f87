import type { Command } from 'commander'
import { CatalogError } from '../../tabularium/index.ts'
import type { Io } from '../io.ts'
import { typeText } from '../print.ts'
import type { JsonField } from '../rows/types.ts'
import { addVersionOptions, tableCommand, type VersionOptions, versionFields } from './table-command.ts'

/** The command that lists the columns of a table. */
export function schemaCommand(io: Io, signal: AbortSignal): Command {
  const command = tableCommand<VersionOptions>(
    {
      name: 'schema',
      group: 'Tables',
      summary: 'List the columns of a table.',
      description: 'Each comes with its type, and says whether it may be null.',
      examples: ['./catalog prod.flights', './catalog prod.flights --version 3'],
    },
    io,
    signal,
    async ({ catalog, id, typed, printer, options }) => {
      const described = await catalog.describeTable(
        { id, ...versionFields(typed), load_detailed_metadata: true },
        options,
      )
      if (described.schema === undefined) throw withoutColumns(described.version)
      const fields = described.schema.fields as readonly (JsonField & { readonly metadata?: object })[]
      printer.rows(
        fields.map(({ metadata, ...field }) => ({
          column: field.name,
          type: typeText({ ...field, nullable: true }),
          nullable: field.nullable,
          ...(metadata && { metadata }),
        })),
      )
    },
  )
  return addVersionOptions(command)
}

function withoutColumns(version: number | undefined): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    version === undefined
      ? 'The table is declared only and has no columns yet. Insert rows first.'
      : `Another engine wrote version ${version}, and only that engine knows its columns. Read them with that engine.`,
  )
}

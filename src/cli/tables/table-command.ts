import { Command, Option } from 'commander'
import type { Catalog, OperationOptions } from '../../tabularium/index.ts'
import { addCatalogOptions, type CatalogOptions } from '../access.ts'
import type { Io } from '../io.ts'
import { locationArgument } from '../locations/location-argument.ts'
import { openLocation } from '../open.ts'
import { toNumber } from '../options.ts'
import { type Printer, printerOf } from '../print.ts'
import { readIdentifier } from '../request.ts'

/** The version that a command reads: either `tag`, or `version` and `branch`. */
export interface VersionOptions {
  readonly version?: number
  readonly tag?: string
  readonly branch?: string
}

/** The context of a command about a table. */
export interface TableWork<Typed> {
  readonly catalog: Catalog
  readonly id: readonly string[]
  readonly typed: Typed & CatalogOptions
  readonly printer: Printer
  readonly options: Pick<OperationOptions, 'signal'>
}

export interface TableCommand {
  readonly name: string
  readonly group: string
  readonly summary: string
  readonly description: string
  readonly examples: readonly string[]
}

/** A command about one table that combines operations and prints their results for people. */
export function tableCommand<Typed>(
  { name, group, summary, description, examples }: TableCommand,
  io: Io,
  signal: AbortSignal,
  work: (given: TableWork<Typed>) => Promise<void>,
): Command {
  const command = new Command(name)
    .summary(summary)
    .description(`${summary} ${description}`)
    .helpGroup(`${group}:`)
    .addArgument(
      locationArgument('<location>', 'directory of a catalog, or the URL of a database or of a server'),
    )
    .argument('<table>', 'such as prod.flights')
    .addHelpText(
      'after',
      `\nExamples:\n${examples.map((line) => `  $ tabularium ${name} ${line}\n`).join('')}`,
    )
  addCatalogOptions(command)
  return command.action(async (location: string, table: string, typed: Typed & CatalogOptions) => {
    const id = readIdentifier(table, typed.delimiter)
    await using catalog = await openLocation(location, false, typed)
    const printer = printerOf(io, typed.json)
    await work({ catalog, id, typed, printer, options: { signal } })
    printer.end()
  })
}

/** Adds the options that select a version. */
export function addVersionOptions(command: Command): Command {
  return command
    .option('--version <number>', 'the version (default: the latest)', toNumber)
    .addOption(new Option('--tag <text>', 'the tag of the version').conflicts(['version', 'branch']))
    .option('--branch <text>', 'the branch (default: the main branch)')
}

/** The selected version as fields of a request. */
export function versionFields({ version, tag, branch }: VersionOptions): VersionOptions {
  return {
    ...(version !== undefined && { version }),
    ...(tag !== undefined && { tag }),
    ...(branch !== undefined && { branch }),
  }
}

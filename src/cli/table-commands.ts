import { Command, Option } from 'commander'
import { type Catalog, CatalogError, type OperationOptions } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { toMoment } from './moment.ts'
import { openLocation } from './open.ts'
import { addCatalogOptions, type CatalogOptions, toNumber } from './options.ts'
import { type Printer, printerOf, typeText } from './print.ts'
import { readIdentifier } from './request.ts'
import type { JsonField } from './rows/json.ts'

/** The version that a command reads: either `tag`, or `version` or `at`, and `branch`. */
interface VersionOptions {
  readonly version?: number
  readonly tag?: string
  readonly at?: string
  readonly branch?: string
}

/** The context of a command about a table. */
interface TableWork<Typed> {
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
function tableCommand<Typed>(
  { name, group, summary, description, examples }: TableCommand,
  io: Io,
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
    try {
      await work({ catalog, id, typed, printer, options: { signal: io.signal } })
    } catch (error) {
      const { withNearName } = await import('./near-names.ts')
      throw await withNearName(error, { catalog, ids: [id], delimiter: typed.delimiter, options: {} })
    }
    printer.end()
  })
}

/** Adds the options that select a version. */
function addVersionOptions(command: Command): Command {
  return command
    .option('--version <number>', 'the version (default: the latest)', toNumber)
    .addOption(new Option('--tag <text>', 'the tag of the version').conflicts(['version', 'at', 'branch']))
    .addOption(atOption('the version as of a time').conflicts(['version', 'tag']))
    .option('--branch <text>', 'the branch (default: the main branch)')
}

function atOption(what: string): Option {
  return new Option('--at <time>', `${what}: 2026-11-01T00:00:00Z, or "1 hour ago"`).argParser(toMoment)
}

/** The selected version as fields of a request. */
function versionFields({ version, tag, at, branch }: VersionOptions): VersionOptions {
  return {
    ...(version !== undefined && { version }),
    ...(tag !== undefined && { tag }),
    ...(at !== undefined && { at }),
    ...(branch !== undefined && { branch }),
  }
}

/** The command that shows the first rows of a table. */
export function headCommand(io: Io): Command {
  const command = tableCommand<VersionOptions & { readonly rows: number }>(
    {
      name: 'head',
      group: 'Rows',
      summary: 'Show the first rows of a table.',
      description: 'They come in the order they were inserted. The command query picks rows and columns.',
      examples: [
        './catalog prod.flights',
        './catalog prod.flights -n 3 --tag stable',
        `./catalog prod.flights --at '1 hour ago'`,
      ],
    },
    io,
    async ({ catalog, id, typed, printer, options }) => {
      const { data } = await catalog.queryTable({ id, limit: typed.rows, ...versionFields(typed) }, options)
      const { rowsOfParts } = await import('./rows/arrow.ts')
      for await (const { rows } of rowsOfParts(data)) printer.rows(rows)
    },
  )
  return addVersionOptions(command.option('-n, --rows <number>', 'how many rows', toNumber, 10))
}

/** The command that lists the columns of a table. */
export function schemaCommand(io: Io): Command {
  const command = tableCommand<VersionOptions>(
    {
      name: 'schema',
      group: 'Tables',
      summary: 'List the columns of a table.',
      description: 'Each comes with its type, and says whether it may be null.',
      examples: ['./catalog prod.flights', './catalog prod.flights --version 3'],
    },
    io,
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
      : `Another engine wrote version ${version}, and only that engine knows its columns. Read them with that engine. Those of Lance are known where its package is installed: npm install @lancedb/lancedb`,
  )
}

interface Typed {
  readonly branch?: string
  readonly at?: string
  readonly limit?: number
}

/** The most tags that are read to show them beside versions. */
const maxTags = 10_000

/** The command that lists the versions of a table with the operations that made them. */
export function historyCommand(io: Io): Command {
  return tableCommand<Typed>(
    {
      name: 'history',
      group: 'Versions, tags and branches',
      summary: 'List the versions of a table with what made each.',
      description:
        'The latest comes first. The operation is null where its transaction is no longer recorded, or where another engine made the version.',
      examples: ['./catalog prod.flights', './catalog prod.flights -n 5 --branch experiment'],
    },
    io,
    listHistory,
  )
    .option('-n, --limit <number>', 'at most so many versions (default: all)', toNumber)
    .addOption(atOption('leave out what was made after a time'))
    .option('--branch <text>', 'the branch (default: the main branch)')
}

async function listHistory({ catalog, id, typed, printer, options }: TableWork<Typed>): Promise<void> {
  const { at, branch, limit } = typed
  const request = { id, at, branch, limit, descending: true, with_transactions: true }
  const tags = await tagsOf({ catalog, id, typed, options })
  for await (const found of catalog.versions(request, options)) {
    const { version, timestamp_millis, operation, transaction_id, metadata } = found
    printer.rows([
      {
        version,
        time: timestamp_millis === undefined ? null : new Date(timestamp_millis).toISOString(),
        operation: operation ?? null,
        transaction: transaction_id ?? null,
        tags: tags.get(version) ?? [],
        ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
      },
    ])
  }
  printer.rows([])
}

/** The tags of a branch, by version. */
async function tagsOf({ catalog, id, typed, options }: Omit<TableWork<Typed>, 'printer'>) {
  const wanted = typed.branch === 'main' ? '' : (typed.branch ?? '')
  const tags = new Map<number, string[]>()
  for await (const { name, branch = '', version } of catalog.tags({ id, limit: maxTags }, options)) {
    if (branch !== wanted) continue
    const others = tags.get(version)
    if (others) others.push(name)
    else tags.set(version, [name])
  }
  return tags
}

/** The most tags, and the most branches, that are shown. */
const maxNames = 1_000

/** The most versions that are counted. */
const maxVersions = 100_000

/** The command that prints everything the catalog knows about a table. */
export function describeCommand(io: Io): Command {
  const command = tableCommand<VersionOptions>(
    {
      name: 'describe',
      group: 'Tables',
      summary: 'Describe a table: columns, rows, size, versions, tags and branches.',
      description:
        'What only another engine knows of its tables is null. The command describe-table answers as the operation does.',
      examples: ['./catalog prod.flights', './catalog prod.flights --tag stable'],
    },
    io,
    async (work) => work.printer.one(await describe(work)),
  )
  return addVersionOptions(command)
}

type Work = TableWork<VersionOptions>

async function describe({ catalog, id, typed, options }: Work): Promise<Readonly<Record<string, unknown>>> {
  const asked = versionFields(typed)
  const found = await catalog.describeTable({ id, ...asked, load_detailed_metadata: true }, options)
  const { location, properties, version, schema, metadata, stats, managed_versioning, is_only_declared } =
    found
  const branch = typed.tag === undefined ? typed.branch : await branchOf(catalog, id, typed.tag, options)
  // Later requests name this version, so concurrent commits do not mix versions.
  const size = schema === undefined ? undefined : await sizeOf(catalog, { id, branch, version }, options)
  const [versions, tags, branches] = await Promise.all([
    versionsOf(catalog, { id, branch }, options),
    named(catalog.tags({ id, limit: maxNames + 1 }, options), ({ version, branch }) => ({
      version,
      ...(branch !== undefined && { branch }),
    })),
    named(catalog.branches({ id, limit: maxNames + 1 }, options), ({ parentBranch, parentVersion }) => ({
      from_version: parentVersion,
      ...(parentBranch != null && { from_branch: parentBranch }),
    })),
  ])
  return {
    table: id.join(typed.delimiter),
    location,
    version: version ?? null,
    branch: branch || 'main',
    rows: size?.num_rows ?? null,
    deleted_rows: stats?.num_deleted_rows ?? null,
    bytes: size?.total_bytes ?? null,
    fragments: stats?.num_fragments ?? null,
    indexes: size?.num_indices ?? null,
    ...(is_only_declared && { is_only_declared }),
    ...(managed_versioning && { managed_versioning }),
    versions,
    tags,
    branches,
    properties,
    metadata: metadata ?? {},
    schema: schema ?? null,
  }
}

type Options = Work['options']
interface BranchRef {
  readonly id: readonly string[]
  readonly branch: string | undefined
}

async function branchOf(catalog: Catalog, id: readonly string[], tag: string, options: Options) {
  return (await catalog.getTableTagVersion({ id, tag }, options)).branch
}

async function sizeOf(
  catalog: Catalog,
  { id, branch, version }: BranchRef & { readonly version: number | undefined },
  options: Options,
) {
  try {
    return await catalog.getTableStats({ id, branch, version }, options)
  } catch (error) {
    // Other implementations of the protocol may not support it.
    if (error instanceof CatalogError && error.code === 'Unsupported') return undefined
    throw error
  }
}

/** The number of versions of a branch, its first and its latest. Stops counting at {@link maxVersions}. */
async function versionsOf(catalog: Catalog, { id, branch }: BranchRef, options: Options) {
  let [count, first, latest] = [0, null as number | null, null as number | null]
  for await (const { version } of catalog.versions(
    { id, branch, limit: maxVersions + 1, descending: true },
    options,
  )) {
    latest ??= version
    if (count === maxVersions) return { count, latest, more: true }
    first = version
    count++
  }
  return { count, first, latest }
}

/** Tags or branches by name, at most {@link maxNames}. */
async function named<T extends { readonly name: string }>(
  items: AsyncIterable<T>,
  about: (item: T) => Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const found: [string, unknown][] = []
  for await (const item of items) {
    if (found.length === maxNames) return { ...Object.fromEntries(found), '…': `more than ${maxNames}` }
    found.push([item.name, about(item)])
  }
  return Object.fromEntries(found)
}

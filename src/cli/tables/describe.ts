import type { Command } from 'commander'
import { type Catalog, CatalogError } from '../../tabularium/index.ts'
import type { Io } from '../io.ts'
import {
  addVersionOptions,
  type TableWork,
  tableCommand,
  type VersionOptions,
  versionFields,
} from './table-command.ts'

/** The most tags, and the most branches, that are shown. */
const mostNames = 1_000

/** The most versions that are counted. */
const mostVersions = 100_000

/** The command that prints everything the catalog knows about a table. */
export function describeCommand(io: Io, signal: AbortSignal): Command {
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
    signal,
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
    named(catalog.tags({ id, limit: mostNames + 1 }, options), ({ version, branch }) => ({
      version,
      ...(branch !== undefined && { branch }),
    })),
    named(catalog.branches({ id, limit: mostNames + 1 }, options), ({ parentBranch, parentVersion }) => ({
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

/** The number of versions of a branch, its first and its latest. Stops counting at {@link mostVersions}. */
async function versionsOf(catalog: Catalog, { id, branch }: BranchRef, options: Options) {
  let [count, first, latest] = [0, null as number | null, null as number | null]
  for await (const { version } of catalog.versions(
    { id, branch, limit: mostVersions + 1, descending: true },
    options,
  )) {
    latest ??= version
    if (count === mostVersions) return { count, latest, more: true }
    first = version
    count++
  }
  return { count, first, latest }
}

/** Tags or branches by name, at most {@link mostNames}. */
async function named<T extends { readonly name: string }>(
  items: AsyncIterable<T>,
  about: (item: T) => Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const found: [string, unknown][] = []
  for await (const item of items) {
    if (found.length === mostNames) return { ...Object.fromEntries(found), '…': `more than ${mostNames}` }
    found.push([item.name, about(item)])
  }
  return Object.fromEntries(found)
}

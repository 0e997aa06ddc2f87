import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import type { OptimizeOptions } from '../../engine/table/index.ts'
import { findDataset } from '../lance/dataset.ts'
import { filesNamedIn } from '../lance/named-files.ts'
import { versionOfName, versionsFolderOf } from '../locations/lance-files.ts'
import { onBranch } from '../lookup/versions.ts'
import type { AnyRowsContext, RowsOptions } from './context.ts'
import { type Optimized, optimize } from './optimize.ts'
import { readTable } from './read.ts'
import { byItsEngine } from './rows.ts'

/** Optimizes a table's branch, by the engine that wrote it. */
export async function optimizeAny(
  core: AnyRowsContext,
  about: { readonly id: Identifier; readonly branch: string },
  aims: OptimizeOptions,
  options: RowsOptions,
): Promise<Optimized> {
  return byItsEngine(
    () => optimize(core, about, aims, options),
    () => optimizeLances(core, options, about),
  )
}

/**
 * Merges the small fragments of a table of Lance, and brings its indexes up to date. Lance does so in several versions.
 * No version is removed. Resolves to undefined where no dataset of Lance is.
 */
async function optimizeLances(
  core: AnyRowsContext,
  options: RowsOptions,
  { id, branch }: { readonly id: Identifier; readonly branch: string },
): Promise<Optimized | undefined> {
  const { changeLance } = await import('./lance-change.ts')
  await requireWholeManifests(core, id, branch, options.signal)
  const sizes = () => readTable(core, id, { branch }, (rows) => rows.stats())
  const before = await sizes()
  const made = await changeLance(core, options, {
    operation: 'OptimizeTable',
    id,
    branch,
    makesSeveral: true,
    lances: () => ({ kind: 'optimize' }),
  })
  if (made === undefined) return undefined
  const { version, transaction_id, hasVersion } = made
  const after = hasVersion ? await sizes() : before
  return {
    optimized: hasVersion,
    version,
    rows: after.rows,
    // Lance does not tell.
    rewritten_rows: 0,
    fragments_before: before.fragments,
    fragments_after: after.fragments,
    bytes_before: before.bytes,
    bytes_after: after.bytes,
    repaired_index_files: 0,
    transaction_id,
  }
}

/** Manifests that are read at the same time. */
const depth = 8

/**
 * Refuses a branch with a manifest that cannot be read: Lance looks at all of them in the middle of its work, and would
 * leave the rest of that.
 */
async function requireWholeManifests(
  core: AnyRowsContext,
  id: Identifier,
  branch: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const dataset = await findDataset(core, id)
  if (dataset === undefined) return
  const { content, shared, prefix } = dataset.folder
  const folder = prefix + versionsFolderOf(branch)
  const names = (await shared.names(folder)).filter((name) => versionOfName(name) !== undefined)
  const faultOf = async (name: string) => {
    signal?.throwIfAborted()
    const manifest = await content.get(folder + name)
    try {
      if (manifest) filesNamedIn(manifest)
      return undefined
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return { version: versionOfName(name), message: error.message, cause: error }
    }
  }
  for await (const fault of prefetch(names, faultOf, { depth })) {
    if (fault === undefined) continue
    throw new CatalogError(
      'InvalidTableState',
      `The table ${formatIdentifier(id)}${onBranch(branch)} cannot be optimized, as the manifest of its version ${fault.version} is damaged. ${fault.message} Restore that file from a backup, or delete the version, and try again.`,
      { cause: fault.cause },
    )
  }
}

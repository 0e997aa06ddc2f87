import type { Identifier } from '../../base/model/identifier.ts'
import type { OptimizeOptions } from '../../engine/table/index.ts'
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

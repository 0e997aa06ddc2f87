import type { Identifier } from '../../base/model/identifier.ts'
import type { OptimizeOptions, Snapshot, WorkOptions } from '../../engine/table/index.ts'
import { applyToRows, changeRows, findToChange } from './change.ts'
import type { TableToChange } from './change-types.ts'
import type { RowsContext, RowsOptions } from './context.ts'
import { declaredOnly, retryIfReplaced } from './rows.ts'

/** The result of optimizing a table. */
export interface Optimized {
  readonly optimized: boolean
  readonly version: number
  readonly rows: number
  readonly rewritten_rows: number
  readonly fragments_before: number
  readonly fragments_after: number
  readonly bytes_before: number
  readonly bytes_after: number
  readonly repaired_index_files: number
  /** Absent when there was nothing to do from the start. */
  readonly transaction_id?: string
}

/** Runs the work of optimizing a table, or leaves it to a process that already does it: then there is no result. */
export type RunOptimize = <T>(
  tableId: string,
  work: (options: RowsOptions) => Promise<T>,
) => Promise<T | undefined>

/** Merges the small fragments of a table's branch, and writes the indexes that fragments lack or whose files are broken. */
export async function optimize(
  core: RowsContext,
  { id, branch }: { id: Identifier; branch: string },
  aims: OptimizeOptions,
  options: RowsOptions,
  run: RunOptimize = (_, work) => work(options),
): Promise<Optimized> {
  const start = await findToChange(core, { id, branch })
  const { table, base: before } = start
  if (before === undefined) throw declaredOnly(id)
  // Background work does not read all indexes again and again.
  const broken = aims.gentle
    ? undefined
    : await retryIfReplaced(core, id, table, () =>
        start.engine.brokenIndexes(before, { signal: options.signal }),
      )
  const goals = { ...aims, broken }
  const isOptimized = await retryIfReplaced(core, id, table, () => start.engine.isOptimized(before, goals))
  const version = start.head.current!.version
  const nothing = { optimized: false, version, ...totals(before, before, 0), repaired_index_files: 0 }
  if (isOptimized) return nothing
  const change = {
    operation: 'OptimizeTable',
    id,
    branch,
    prepare: ({ engine }: TableToChange, work: WorkOptions) => engine.optimizeRows(before, goals, work),
    apply: applyToRows,
  }
  const made = await run(table.id, (given) => changeRows(core, given, change, start))
  if (made === undefined) return nothing
  const { base, snapshot, affected, transaction_id } = made
  return {
    optimized: snapshot !== base,
    version: made.version,
    ...totals(base!, snapshot, affected),
    repaired_index_files: broken?.size ?? 0,
    transaction_id,
  }
}

function totals(before: Snapshot, after: Snapshot, rewritten: number) {
  return {
    rows: after.rows,
    rewritten_rows: rewritten,
    fragments_before: before.fragments,
    fragments_after: after.fragments,
    bytes_before: before.bytes,
    bytes_after: after.bytes,
  }
}

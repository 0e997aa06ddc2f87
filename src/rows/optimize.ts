import type { Core } from '../catalog/core.ts'
import type { Identifier } from '../model/identifier.ts'
import type { OperationOptions } from '../operations/framework/operation.ts'
import type { OptimizeGoals, Snapshot } from '../table/index.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { applyToRows, changeRows } from './change.ts'
import { openVersion, whileThere } from './rows.ts'

/** What optimizing a table came to. */
export interface Optimized {
  readonly optimized: boolean
  readonly version: number
  readonly rows: number
  readonly rewritten_rows: number
  readonly fragments_before: number
  readonly fragments_after: number
  readonly bytes_before: number
  readonly bytes_after: number
  /** Absent where there was nothing to do from the start. */
  readonly transaction_id?: string
}

/** Merges the small fragments of a table's branch, if there are any. */
export async function optimize(
  core: Core,
  { id, branch }: { id: Identifier; branch: string },
  goals: OptimizeGoals,
  options: OperationOptions,
): Promise<Optimized> {
  const { found: latest, ...found } = await openVersion(core, id, { branch })
  const isOptimized = await whileThere(core, id, found.table, () =>
    found.engine.isOptimized(found.snapshot, goals),
  )
  if (isOptimized) {
    return { optimized: false, version: latest.version, ...totals(found.snapshot, found.snapshot, 0) }
  }
  const { base, snapshot, affected, version, transaction_id } = await changeRows(core, options, {
    operation: 'OptimizeTable',
    id,
    branch,
    check: ({ table }) => {
      if (table.id !== found.table.id) throw new TargetReplaced(id)
    },
    prepare: ({ engine, base = found.snapshot }, work) => engine.optimizeRows(base, goals, work),
    apply: applyToRows,
  })
  return { optimized: affected > 0, version, ...totals(base!, snapshot, affected), transaction_id }
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

import * as v from 'valibot'
import {
  branch,
  changeFields,
  flag,
  requestFields,
  tableIdentifier,
  version,
} from '../../base/model/fields.ts'
import { optimizeAny } from '../rows/optimize-any.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

function between(least: number, most: number) {
  // Made when it is needed, since the first number written in a language's way takes 20 ms: more than a quarter of
  // importing the package.
  const message = () =>
    `must be a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`
  return v.nullish(
    v.pipe(v.number(message), v.safeInteger(message), v.minValue(least, message), v.maxValue(most, message)),
  )
}

const shareMessage = 'must be a number from 0 to 1'

/**
 * Merges a table's small fragments, and rewrites fragments that have many deleted rows. The result is a new version
 * with the same rows in the same order. Where there is nothing to do, no version is made and `optimized` is false.
 * Earlier versions, tags and other branches stay as they are. `catalog.vacuum()` frees the space of fragments that no
 * version needs any more. Rows that others insert meanwhile stay, and rows that others delete stay deleted.
 *
 * A merged fragment has at most `target_rows` rows (default: 1,048,576) and about `target_bytes` bytes (default:
 * 128 MiB), which also bounds the memory that merging takes. A fragment counts as small up to half of that. It is
 * rewritten when the share of its deleted rows is at least `min_deleted_share` (default: 0.1). The numbers in the
 * answer are those of the whole table, except for `rewritten_rows`.
 *
 * Files of indexes that fragments lack are written. Those that are missing or damaged are replaced in the new version, and
 * `repaired_index_files` counts them.
 *
 * Lance optimizes a table of its own by its own sizes, and in several versions: one for its fragments, and others for its
 * indexes. It does not tell `rewritten_rows`.
 *
 * ```ts
 * const { fragments_before, fragments_after } = await catalog.optimizeTable({ id: ['prod', 'flights'] })
 * ```
 */
export const optimizeTable = operation({
  name: 'optimizeTable',
  summary: 'Merge the small fragments of a table, and drop deleted rows from its files.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    target_rows: between(64, 16_777_216),
    target_bytes: between(65_536, 1_073_741_824),
    min_deleted_share: v.nullish(
      v.pipe(v.number(shareMessage), v.minValue(0, shareMessage), v.maxValue(1, shareMessage)),
    ),
  }),
  response: v.object({
    ...changeFields,
    optimized: flag,
    version,
    rows: version,
    rewritten_rows: version,
    fragments_before: version,
    fragments_after: version,
    bytes_before: version,
    bytes_after: version,
    repaired_index_files: version,
  }),
  errors: ['TableNotFound', 'TableBranchNotFound', 'InvalidTableState', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/optimize', { rows: true }),
  command: {
    group: 'Rows',
    aliases: ['optimize'],
    examples: ['./catalog prod.flights', './catalog prod.flights --min-deleted-share 0'],
  },
  run: (core, { id, branch, target_rows, target_bytes, min_deleted_share }, options) =>
    optimizeAny(
      core,
      { id, branch },
      {
        targetRows: target_rows ?? undefined,
        targetBytes: target_bytes ?? undefined,
        minDeletedShare: min_deleted_share ?? undefined,
      },
      options,
    ),
})

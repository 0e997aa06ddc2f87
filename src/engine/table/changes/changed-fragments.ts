import { pathIn } from '../../../base/model/relative-path.ts'
import { allRows, type Bitmap, isEmpty, noRows, subtract } from '../../arrow/bitmap.ts'
import { schemaDifference } from '../../arrow/schema.ts'
import { typeName } from '../../arrow/type-name.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { type LoadedSnapshot, openSegment } from '../format/snapshot.ts'
import { haveSameColumns } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { storedColumn } from '../read/few-rows.ts'
import { ChangedFragment } from './changed-side.ts'
import type { ComparedColumn, ComparedColumns } from './compared-columns.ts'

/** A fragment of our own, and its rows that the other version may not have. */
export class OwnFragment extends ChangedFragment {
  readonly entry: FragmentEntry

  constructor(entry: FragmentEntry, rows: Bitmap) {
    super(entry.rows, rows)
    this.entry = entry
  }
}

/**
 * The rows of each of two versions that the other one may not have. Segments and fragments that both name with the same
 * deletions are not read.
 */
export async function changedFragments(
  job: Job,
  from: LoadedSnapshot,
  to: LoadedSnapshot,
  { all }: ComparedColumns,
): Promise<{ readonly from: readonly OwnFragment[]; readonly to: readonly OwnFragment[] }> {
  // If both versions have all columns in common, shared segments have equal rows.
  const areSame =
    schemaDifference(from.schema, to.schema) === undefined && haveSameColumns(from.schema, to.schema)
  const [before, after] = await ownEntries(job, from, to, areSame)
  const isSame = (entry: FragmentEntry, same: FragmentEntry) =>
    (areSame && entry.files === undefined && same.files === undefined) ||
    haveSameValues(all, from, to, entry, same)
  const later = new Map(after.map((entry) => [pathIn(to.prefix, entry.path), entry]))
  const removed: OwnFragment[] = []
  const added = new Map<FragmentEntry, Bitmap | 'none'>()
  for (const entry of before) {
    if (job.due) await job.rest()
    const same = later.get(pathIn(from.prefix, entry.path))
    if (same === undefined || !isSame(entry, same)) {
      const live = await readLive(job.storage, from.prefix, entry)
      removed.push(new OwnFragment(entry, live?.slice() ?? allRows(entry.rows)))
      continue
    }
    const { gone, come } = await differentDeletions(job, from, to, entry, same)
    if (gone) removed.push(new OwnFragment(entry, gone))
    added.set(same, come ?? 'none')
  }
  const inserted: OwnFragment[] = []
  for (const entry of after) {
    if (job.due) await job.rest()
    const known = added.get(entry)
    if (known === 'none') continue
    const live = known ?? (await readLive(job.storage, to.prefix, entry))?.slice()
    inserted.push(new OwnFragment(entry, live ?? allRows(entry.rows)))
  }
  return { from: removed, to: inserted }
}

/** The fragments of each version that are in no segment of both. */
async function ownEntries(
  job: Job,
  from: LoadedSnapshot,
  to: LoadedSnapshot,
  skips: boolean,
): Promise<readonly [readonly FragmentEntry[], readonly FragmentEntry[]]> {
  const pathsOf = ({ prefix, body }: LoadedSnapshot) =>
    new Set(body.segments.map(({ path }) => pathIn(prefix, path)))
  const own = async (snapshot: LoadedSnapshot, others: ReadonlySet<string>) => {
    const { prefix, body } = snapshot
    const entries: FragmentEntry[] = []
    for (const segment of body.segments) {
      if (skips && others.has(pathIn(prefix, segment.path))) continue
      for (const entry of await openSegment(job.storage, prefix, segment, body.bases)) entries.push(entry)
      if (job.due) await job.rest()
    }
    return [...entries, ...body.tail]
  }
  return [await own(from, pathsOf(to)), await own(to, pathsOf(from))]
}

/** Of a fragment of both versions, the rows that only one of them has. */
async function differentDeletions(
  job: Job,
  from: LoadedSnapshot,
  to: LoadedSnapshot,
  before: FragmentEntry,
  after: FragmentEntry,
): Promise<{ gone?: Bitmap; come?: Bitmap }> {
  if (keyOf(before) === keyOf(after)) return {}
  const all = allRows(before.rows)
  const then = (await readLive(job.storage, from.prefix, before)) ?? all
  const now = (await readLive(job.storage, to.prefix, after)) ?? all
  const gone = noRows(before.rows)
  subtract(then, now, gone, gone.length)
  const come = noRows(before.rows)
  subtract(now, then, come, come.length)
  return { ...(!isEmpty(gone) && { gone }), ...(!isEmpty(come) && { come }) }
}

/** Identifies the deleted rows of a fragment. */
function keyOf({ deletions }: FragmentEntry): string {
  return deletions === undefined ? '' : `${deletions.path}#${deletions.bits[0]}`
}

/** Whether a fragment of both versions has the same values in all compared columns, by the names of its files. */
function haveSameValues(
  columns: readonly ComparedColumn[],
  from: LoadedSnapshot,
  to: LoadedSnapshot,
  before: FragmentEntry,
  after: FragmentEntry,
): boolean {
  return columns.every((column) => {
    const now = storedColumn(to, after, column.to)
    const then = column.from === undefined ? undefined : storedColumn(from, before, column.from)
    if (now === undefined || then === undefined) return now === then
    if (now.key !== then.key) return false
    const children = JSON.stringify(now.source.children)
    return (
      children === JSON.stringify(then.source.children) &&
      typeName(from.schema.fields[column.from!]!.type, true) === typeName(column.field.type, true)
    )
  })
}

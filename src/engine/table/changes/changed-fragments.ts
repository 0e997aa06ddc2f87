import { pathIn } from '../../../base/model/relative-path.ts'
import { allRows, type Bitmap, countRows, isEmpty, noRows, subtract } from '../../arrow/bitmap.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { type LoadedSnapshot, openSegment } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { type ComparedColumns, haveSameValues } from './compared-columns.ts'

/** Rows of a fragment that one version has, and the other one may not have. */
export class ChangedFragment {
  readonly entry: FragmentEntry
  readonly rows: Bitmap
  /** Of these, those that are a row of the other version with other values. */
  readonly updated: Bitmap

  constructor(entry: FragmentEntry, rows: Bitmap) {
    this.entry = entry
    this.rows = rows
    this.updated = noRows(entry.rows)
  }

  get count(): number {
    return countRows(this.rows)
  }
}

/** One of two versions, and its rows that the other one may not have. */
export interface ChangedSide {
  readonly snapshot: LoadedSnapshot
  readonly fragments: readonly ChangedFragment[]
}

/**
 * The rows of each of two versions that the other one may not have. Segments and fragments that both name with the same
 * deletions are not read.
 */
export async function changedFragments(
  job: Job,
  from: LoadedSnapshot,
  to: LoadedSnapshot,
  columns: ComparedColumns,
): Promise<{ readonly from: ChangedSide; readonly to: ChangedSide }> {
  const [before, after] = await ownEntries(job, from, to, columns.areSame)
  const later = new Map(after.map((entry) => [pathIn(to.prefix, entry.path), entry]))
  const removed: ChangedFragment[] = []
  const added = new Map<FragmentEntry, Bitmap | 'none'>()
  for (const entry of before) {
    if (job.due) await job.rest()
    const same = later.get(pathIn(from.prefix, entry.path))
    if (same === undefined || !haveSameValues(columns, from, to, entry, same)) {
      const live = await readLive(job.storage, from.prefix, entry)
      removed.push(new ChangedFragment(entry, live?.slice() ?? allRows(entry.rows)))
      continue
    }
    const { gone, come } = await differentDeletions(job, from, to, entry, same)
    if (gone) removed.push(new ChangedFragment(entry, gone))
    added.set(same, come ?? 'none')
  }
  const inserted: ChangedFragment[] = []
  for (const entry of after) {
    if (job.due) await job.rest()
    const known = added.get(entry)
    if (known === 'none') continue
    const live = known ?? (await readLive(job.storage, to.prefix, entry))?.slice()
    inserted.push(new ChangedFragment(entry, live ?? allRows(entry.rows)))
  }
  return {
    from: { snapshot: from, fragments: removed },
    to: { snapshot: to, fragments: inserted },
  }
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

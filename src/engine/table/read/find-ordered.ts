import { prefetch } from '../../../base/scheduling/prefetch.ts'
import { withMembers } from '../../../base/with-members.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { bytesOfColumn } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { prune } from '../scan/evaluate.ts'
import { type FragmentPosition, liveRowsOf, namedRows, withPositions } from '../scan/row-columns.ts'
import { startScan } from '../scan/scan.ts'
import type { QueryOptions } from '../table-engine.ts'
import type { AnswerReader } from './answer-reader.ts'
import { BestRows } from './best-rows.ts'
import { addBest } from './find-best.ts'
import { boundOf, endValue } from './order-statistics.ts'
import { matchingRows } from './selected-rows.ts'
import { compareKey, type SortKey, type SortValue } from './sort-keys.ts'
import { maxSortedBytes, sortedRows } from './sort-rows.ts'

/** Most rows that are found in each fragment by itself, and then compared with those of others. */
const mostByFragment = 16_384

/** Rows of a table below which all are compared at once, as that takes less time than to look for the best. */
const fewRows = 4_096

/** Bytes of keys that are held at a time. */
const heldAtOnce = 1 << 20

/** Bytes of a row that is kept, besides its values. */
const bytesOfRow = 64

/** The rows of a query in the order of keys, without the first `skip`. */
export interface Ordered {
  readonly predicate: Predicate | undefined
  readonly keys: readonly SortKey[]
  readonly skip: number
  readonly limit: number
  /** The columns that the answer reads. */
  readonly columns: readonly number[]
  readonly memory: QueryOptions['memory']
}

type Source = FragmentEntry & Required<FragmentPosition>

/** The rows of the answer, in order. */
export interface FoundRows {
  /** The index of each row's fragment in `sources`, and the row there. */
  readonly fragments: Int32Array
  readonly rows: Int32Array
  /** The value that one of these rows has of a key. */
  valueAt(key: number, row: number): SortValue
  readonly sources: readonly Source[]
  /** How many rows were compared. */
  readonly seen: number
  /** Bytes that the search for them has taken. */
  readonly bytes: number
  /** Reserves so many bytes in all. */
  hold(bytes: number): Promise<void> | undefined
}

/** Finds the rows of a query in the order of its keys. */
export async function findOrdered(
  job: Job,
  snapshot: LoadedSnapshot,
  reader: AnswerReader,
  ordered: Ordered,
): Promise<FoundRows> {
  const { skip, limit, memory } = ordered
  let held = 0
  const hold = (bytes: number) => {
    if (bytes <= held) return undefined
    const taken = memory?.take(bytes - held)
    held = bytes
    return taken
  }
  const finding = withMembers(ordered, { wanted: skip + limit, hold })
  const find = isByFragment(snapshot, finding) ? byFragment : inTurn
  const { best, sources } = await find(job, snapshot, finding, reader)
  const sorted = await best.sorted(job)
  const [fragments, rows] = [sorted.fragments.subarray(skip), sorted.rows.subarray(skip)]
  const valueAt = (key: number, row: number) => sorted.valueAt(key, skip + row)
  await hold(best.bytes)
  return { fragments, rows, valueAt, sources, seen: best.seen, bytes: best.bytes, hold }
}

interface Finding extends Ordered {
  readonly wanted: number
  hold(bytes: number): Promise<void> | undefined
}

interface Found {
  readonly best: BestRows
  /** Fragments, in the order of the version. */
  readonly sources: readonly Source[]
}

/**
 * Whether the first rows of fragments are found by themselves, the best fragments first. Then most rows are not read, so
 * a predicate must not fail for any of them.
 */
function isByFragment(
  { schema, rows, deletedRows }: LoadedSnapshot,
  { wanted, predicate }: Finding,
): boolean {
  if (rows + deletedRows < fewRows || wanted > mostByFragment || predicate?.mayFail) return false
  return predicate === undefined || namedRows(schema, predicate.membership) === undefined
}

/** Compares all selected rows, in their order. */
async function inTurn(
  job: Job,
  snapshot: LoadedSnapshot,
  { predicate, keys, wanted, columns, hold }: Finding,
  reader: AnswerReader,
): Promise<Found> {
  const bound = predicate ? undefined : await boundOfAll(job, snapshot, keys[0]!, wanted)
  const best = new BestRows(keys, wanted, maxSortedBytes, bound)
  const sources: Source[] = []
  let held = 0
  const holdMany = (bytes: number) => {
    if (bytes <= held + heldAtOnce) return undefined
    held = bytes
    return hold(bytes)
  }
  const read = [...columns, ...keys.map(({ path }) => path[0]!)]
  for await (const { entry, found: among } of matchingRows(job, snapshot, predicate, read)) {
    // Without a row, the columns are not read.
    if (among?.length === 0) continue
    const least = endValue('first', keys[0]!, snapshot.schema, entry)
    const fragment = sources.push(entry) - 1
    if (least !== undefined && !best.mayAdd(fragment, 0, least)) continue
    const batches = await reader.columnsAt(entry, keys)
    await addBest(best, { fragment, batches, among }, job, holdMany)
  }
  return { best, sources }
}

/** A bound for all rows of a version, by statistics; undefined if none is known. */
async function boundOfAll(job: Job, snapshot: LoadedSnapshot, key: SortKey, wanted: number) {
  if (wanted >= snapshot.rows) return undefined
  const entries: FragmentEntry[] = []
  for await (const entry of withPositions(fragmentsOf(job.storage, snapshot))) {
    entries.push(entry)
    if (job.due) await job.rest()
  }
  return boundOf(key, snapshot.schema, entries, wanted, job)
}

/** A fragment that may have rows of the answer. */
interface Part {
  readonly fragment: number
  readonly entry: Source
  readonly verdict: 'some' | 'all'
  /** A value that none of its rows precedes; undefined if none is known. */
  readonly least: SortValue | undefined
}

/** Finds the first rows of fragments, the best fragments first, until all others come behind. */
async function byFragment(
  job: Job,
  snapshot: LoadedSnapshot,
  { predicate, keys, wanted, hold }: Finding,
): Promise<Found> {
  const { schema } = snapshot
  const { sources, parts } = await partsOf(job, snapshot, predicate, keys[0]!)
  const whole = parts.filter(({ verdict }) => verdict === 'all').map(({ entry }) => entry)
  const best = new BestRows(keys, wanted, maxSortedBytes, await boundOf(keys[0]!, schema, whole, wanted, job))
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  let done = 0
  const report = (rows: number) => {
    done += rows
    job.report(rows, rowsTotal)
  }
  const scan = await startScan(job, snapshot, predicate)
  const isInOrder = followEachOther(keys[0]!, schema, parts)
  let rounds = 0
  const plan = {
    get depth() {
      // The first fragments may have all rows. The more of them have not, the more are begun at once.
      if (isInOrder) return Math.min(scan.depth, 2 * rounds)
      // What one of the first two has is a bound for all others.
      return rounds === 0 ? 1 : scan.depth
    },
  }
  function* rest() {
    for (const part of parts) {
      const { fragment, least } = part
      if (least !== undefined && !best.mayAdd(fragment, 0, least)) return
      yield part
    }
  }
  const begin = async ({ fragment, entry, verdict }: Part) => {
    const width = keys.reduce((sum, { path }) => sum + widthOf(snapshot, entry, path[0]!), bytesOfRow)
    // Up to twice as many as are wanted are kept while they are found, and so are those of the fragment before.
    const held = hold(best.bytes + 4 * Math.min(wanted, entry.rows) * width)
    if (held) await held
    const task = {
      keys,
      most: wanted,
      // It may be a better one when the work begins.
      get bound() {
        return best.boundFor(fragment, 0)
      },
    }
    const find = await scan.begin(entry, task, verdict === 'all' ? 'all' : 'matches')
    return { fragment, entry, find }
  }
  try {
    for await (const { fragment, entry, find } of prefetch(rest(), begin, plan)) {
      const added = best.addFound(fragment, await find(), job)
      if (added) await added
      rounds++
      report(entry.rows)
      if (job.due) await job.rest()
    }
  } finally {
    scan.end()
  }
  if (done < rowsTotal) report(rowsTotal - done)
  return { best, sources }
}

/** Bytes of a column's values in a row, on average. */
function widthOf({ schema }: LoadedSnapshot, entry: FragmentEntry, column: number): number {
  return column < schema.fields.length ? bytesOfColumn(schema, entry, column) / Math.max(1, entry.rows) : 8
}

/** The fragments that statistics do not exclude, in the order of the version, and the best ones first. */
async function partsOf(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate | undefined,
  key: SortKey,
): Promise<{ readonly sources: readonly Source[]; readonly parts: readonly Part[] }> {
  const sources: Source[] = []
  const found: Part[] = []
  for await (const entry of withPositions(fragmentsOf(job.storage, snapshot))) {
    const verdict = predicate ? prune(predicate, snapshot.schema, entry) : 'all'
    if (verdict !== 'none' && liveRowsOf(entry) > 0) {
      const fragment = sources.push(entry as Source) - 1
      found.push({
        fragment,
        entry: entry as Source,
        verdict,
        least: endValue('first', key, snapshot.schema, entry),
      })
    }
    if (job.due) await job.rest()
  }
  const compare = (a: number, b: number) => {
    const [first, second] = [found[a]!.least, found[b]!.least]
    if (first === undefined || second === undefined)
      return Number(second === undefined) - Number(first === undefined)
    return compareKey(key, first, second)
  }
  const order = await sortedRows(found.length, compare, 1, job)
  return { sources, parts: Array.from(order, (at) => found[at]!) }
}

/** Whether the rows of the second fragment come behind those of the first one. */
function followEachOther(
  key: SortKey,
  schema: LoadedSnapshot['schema'],
  [first, second]: readonly Part[],
): boolean {
  if (first === undefined || second?.least === undefined) return false
  const worst = endValue('last', key, schema, first.entry)
  return worst !== undefined && compareKey(key, worst, second.least) <= 0
}

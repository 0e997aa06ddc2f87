import type { Schema, Table } from '@uwdata/flechette'
import {
  addRow,
  type Bitmap,
  countRows,
  forEachRow,
  hasRow,
  intersect,
  isEmpty,
  noRows,
} from '../../arrow/bitmap.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import type { Predicate } from '../../predicate/index.ts'
import { contentKey, type FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { haveSameColumns } from '../format/table-schema.ts'
import { Job } from '../job.ts'
import { type FragmentRows, readColumns } from '../read/fragment-read.ts'
import { piecesOf, selectRows } from '../read/row-selection.ts'
import { readSelected, type SelectedColumns } from '../read/selected-columns.ts'
import { type Compiling, compile } from '../scan/compile.ts'
import { prune } from '../scan/evaluate.ts'
import { minPrefetchDepth, prefetchDepth } from '../scan/prefetch-depth.ts'
import type { Storage } from '../storage/storage.ts'
import type {
  ApplyOptions,
  Change,
  ChangeResult,
  MergeOptions,
  RowCounts,
  Snapshot,
} from '../table-engine.ts'
import { matchFinder } from '../write/delete.ts'
import { Growth } from '../write/growth.ts'
import { Removal, type RowFinder } from '../write/remove-rows.ts'
import { LivePositions, RowWriter } from '../write/row-writer.ts'
import { reviseManifest } from '../write/write-manifest.ts'
import { PairCondition } from './condition.ts'
import { keyPredicate } from './key-predicate.ts'
import {
  type FragmentMatch,
  type Hits,
  lookUp,
  lookUpAmong,
  type MergePlan,
  matchFragment,
  noHits,
} from './match.ts'
import { MergeSource } from './source.ts'

/** Rows of the source that are inserted at a time. */
const insertedAtOnce = 65_536

/**
 * Merges rows into a table: rows with an existing key update or delete rows of the table, others are inserted. Also
 * applies to rows of later commits, and does not restore rows that those deleted.
 */
export async function mergeRows(
  job: Job,
  base: LoadedSnapshot,
  table: Table,
  options: MergeOptions,
): Promise<Change> {
  const merge = new Merge(job.storage, table, options)
  // Report all errors that can be found now.
  await merge.prepare(base, job)
  return merge
}

/** The state for the columns of a base, reused for later bases with the same columns. */
interface Prepared extends MergePlan {
  readonly schema: Schema
  /** True for all rows that match; undefined if the keys of all rows are hashed. */
  readonly keyPredicate: Predicate | undefined
  readonly removal: Removal
  readonly writer: RowWriter
  readonly matches: Map<string, Matched>
  /** The position of each source row among the inserted rows; -1 for those not written. */
  readonly positions: Int32Array
}

/** The matches of a fragment, and the position of the first of its updated rows. */
interface Matched {
  readonly match: FragmentMatch
  start: number
}

class Merge implements Change {
  readonly #storage: Storage
  readonly #table: Table
  readonly #options: MergeOptions
  /** All bases use the same time. */
  readonly #now: number
  #prepared: Prepared | undefined

  constructor(storage: Storage, table: Table, options: MergeOptions) {
    this.#storage = storage
    this.#table = table
    this.#options = options
    this.#now = storage.now()
  }

  async prepare(base: LoadedSnapshot, job: Compiling): Promise<Prepared> {
    const { prefix, schema } = base
    const known = this.#prepared
    if (known && haveSameColumns(known.schema, schema)) return known
    const { on, matched, matchedIf, inserts, orphans, orphansIf } = this.#options
    const source = await MergeSource.of(this.#table, schema, on, inserts, job)
    const condition =
      matchedIf === undefined ? undefined : await PairCondition.of(matchedIf, source, schema, this.#now, job)
    const orphanPredicate =
      orphansIf === undefined ? undefined : await compile(orphansIf, schema, this.#now, job)
    this.#prepared = {
      schema,
      keyPredicate: await keyPredicate(source, base, this.#now, job),
      source,
      matched,
      condition,
      orphans,
      orphanPredicate,
      orphanBudget: orphanPredicate?.budget(),
      removal: new Removal(),
      writer: new RowWriter({ prefix, schema }),
      matches: new Map(),
      positions: new Int32Array(inserts ? source.rows : 0).fill(-1),
    }
    return this.#prepared
  }

  async apply(base: Snapshot, options?: ApplyOptions): Promise<ChangeResult> {
    const snapshot = base as LoadedSnapshot
    const job = new Job(this.#storage, options)
    const prepared = await this.prepare(snapshot, job)
    const finder = prepared.keyPredicate && (await matchFinder(job, snapshot, prepared.keyPredicate))
    const baseMerge = new BaseMerge(job, snapshot, prepared, finder)
    return prepared.removal.from(job, snapshot, baseMerge, async ({ removed, ...left }) => {
      const inserted = this.#options.inserts ? await baseMerge.insert() : 0
      const added = await prepared.writer.fragmentsOf(job, baseMerge.livePositions)
      const parts = { ...left, tail: [...left.tail, ...added] }
      const { updated } = baseMerge
      const counts: RowCounts = { inserted, updated, deleted: removed - updated }
      return {
        snapshot: await reviseManifest(job, snapshot, parts),
        affected: inserted + removed,
        counts,
      }
    })
  }
}

/** Rows of a fragment of a base that are updated. */
interface FoundRows {
  readonly entry: FragmentEntry
  readonly live: Bitmap | undefined
  readonly matched: Matched
  readonly count: number
}

/** A merge into one base. */
class BaseMerge implements RowFinder {
  depth = minPrefetchDepth
  /** How many rows are updated. */
  updated = 0
  readonly livePositions = new LivePositions()
  readonly #found: FoundRows[] = []
  /** The least position of the next rows. */
  #next = 0
  readonly #job: Job
  readonly #snapshot: LoadedSnapshot
  readonly #prepared: Prepared
  /** The first rows of the keys that the table has. */
  readonly #matchedFirsts: Bitmap
  /** Finds the rows that may match. */
  readonly #finder: RowFinder | undefined

  constructor(job: Job, snapshot: LoadedSnapshot, prepared: Prepared, finder: RowFinder | undefined) {
    this.#finder = finder
    this.#job = job
    this.#snapshot = snapshot
    this.#prepared = prepared
    this.#matchedFirsts = noRows(prepared.source.rows)
  }

  verdict(entry: FragmentEntry): 'none' | 'some' | 'all' {
    const { source, orphans, orphanPredicate } = this.#prepared
    if (source.mayMatch(entry, this.#snapshot.schema)) return 'some'
    if (orphans === 'keep') return 'none'
    return orphanPredicate ? prune(orphanPredicate, this.#snapshot.schema, entry) : 'all'
  }

  async begin(entry: FragmentEntry, live: Bitmap | undefined): Promise<() => Promise<Bitmap>> {
    const { source, condition, orphanPredicate, matches } = this.#prepared
    // Other writers may have written rows with other layouts, so the schema is that of this base.
    const looksUp = source.mayMatch(entry, this.#snapshot.schema)
    const scanned = looksUp ? await this.#finder?.begin(entry, live) : undefined
    const columns = new Set(orphanPredicate?.columns)
    if (looksUp && scanned === undefined) {
      for (const index of [...source.keyColumns, ...(condition?.columns ?? [])]) columns.add(index)
    }
    const depth = prefetchDepth(this.#job.storage.content, this.#snapshot.schema, entry, [...columns])
    this.depth = scanned ? Math.min(depth, this.#finder!.depth) : depth
    const rows = await this.#read(entry, columns)
    return async () => {
      const fragment = { rows, live }
      let found: Hits
      if (!looksUp) found = noHits
      else if (scanned === undefined) found = await lookUp(source, fragment, this.#job)
      else found = await this.#lookUpAmong(entry, live, await scanned())
      if (scanned && condition && found.firsts.length > 0) {
        for (const index of condition.columns) columns.add(index)
        fragment.rows = await this.#read(entry, columns)
      }
      const match = await matchFragment(this.#prepared, fragment, found, this.#job)
      matches.set(contentKey(entry), { match, start: -1 })
      return match.removed
    }
  }

  #read(entry: FragmentEntry, columns: Iterable<number>): Promise<FragmentRows> {
    return readColumns(this.#job.storage, this.#snapshot, entry, columns)
  }

  #readSelected(entry: FragmentEntry, columns: Iterable<number>, rows: Bitmap): Promise<SelectedColumns> {
    const selection = selectRows(rows, entry.rows, 0, entry.rows)
    return readSelected(this.#job.storage, this.#snapshot, entry, columns, selection)
  }

  /** Looks up the keys of those rows that a predicate found. */
  async #lookUpAmong(entry: FragmentEntry, live: Bitmap | undefined, candidates: Bitmap): Promise<Hits> {
    const { source } = this.#prepared
    if (isEmpty(candidates)) return noHits
    const keys = await this.#readSelected(entry, source.keyColumns, candidates)
    return keys.isAlone
      ? lookUpAmong(source, candidates, keys.rows, this.#job)
      : lookUp(source, { rows: keys.rows, live }, this.#job)
  }

  async onFound(entry: FragmentEntry, live: Bitmap | undefined): Promise<void> {
    const matched = this.#prepared.matches.get(contentKey(entry))!
    const { hits, firsts, updated } = matched.match
    let hit = 0
    forEachRow(hits, (row) => {
      const first = firsts[hit++]!
      if (live === undefined || hasRow(live, row)) addRow(this.#matchedFirsts, first)
    })
    if (this.#prepared.matched !== 'update') return
    const count = countRows(updated)
    if (count > 0) this.#found.push({ entry, live, matched, count })
  }

  async onAllFound(): Promise<void> {
    await this.#measure()
    for (const found of this.#found) await this.#add(found)
  }

  /** Refuses updated rows with too many bytes in all: many of them may get the values of one source row. */
  async #measure(): Promise<void> {
    const fresh = this.#found.filter(({ matched }) => matched.start < 0)
    const { source } = this.#prepared
    const growth = new Growth(this.#job.storage, this.#snapshot)
    const rows = fresh.reduce((sum, { count }) => sum + count, 0)
    if (rows * source.bytes <= growth.max) return
    const sizes = await source.rowBytes(this.#job)
    let bytes = 0
    for (const { matched } of fresh) {
      for (const row of matched.match.sources) bytes += sizes[row]!
      growth.check(bytes)
      if (this.#job.due) await this.#job.rest()
    }
  }

  /** Adds the matching rows of a fragment. Writes them, unless that was done for an earlier base. */
  async #add({ entry, live, matched, count }: FoundRows): Promise<void> {
    const { updated } = matched.match
    // Rows keep their order. Rows written for an earlier base may now belong before others.
    if (matched.start < this.#next) {
      matched.start = this.#prepared.writer.rows
      await this.#write(entry, matched.match)
    }
    this.#next = matched.start + count
    const left = live ? noRows(entry.rows) : updated
    if (live) intersect(updated, live, left, left.length)
    this.updated += countRows(left)
    this.livePositions.add(matched.start, updated, left)
  }

  end(): void {
    this.#finder?.end()
  }

  /** Writes the updated rows of a fragment: some values from the source, others from the fragment. */
  async #write(entry: FragmentEntry, { updated, sources }: FragmentMatch): Promise<void> {
    const { source, writer } = this.#prepared
    const { schema } = this.#snapshot
    const others = [...schema.fields.keys()].filter((i) => !source.has(i))
    const { rows, selection } = await this.#readSelected(entry, others, updated)
    const selected = source.select(sources)
    const pieces = schema.fields.map((_, i) => {
      const batch = rows.columns[i]
      return batch ? piecesOf(batch, selection) : source.pieces(i, selected)
    })
    for (const batches of assembleColumns(schema.fields, pieces)) await writer.add(this.#job, batches)
    if (this.#job.due) await this.#job.rest()
  }

  /** Inserts the rows of the source whose key the table does not have. Returns their number. */
  async insert(): Promise<number> {
    const { positions } = this.#prepared
    const wanted = this.#unmatched()
    // Rows that were written for an earlier base stay as long as all are in order.
    let kept = 0
    while (kept < wanted.length && positions[wanted[kept]!]! >= this.#next)
      this.#next = positions[wanted[kept++]!]! + 1
    for (let start = kept; start < wanted.length; start += insertedAtOnce) {
      await this.#insert(wanted.subarray(start, start + insertedAtOnce))
    }
    this.livePositions.addNumbers(wanted, positions)
    return wanted.length
  }

  #unmatched(): Int32Array {
    const { source } = this.#prepared
    const rows = new Int32Array(source.rows)
    let count = 0
    for (let row = 0; row < source.rows; row++) {
      const first = source.index.firstOf(row)
      if (first < 0 || !hasRow(this.#matchedFirsts, first)) rows[count++] = row
    }
    return rows.subarray(0, count)
  }

  async #insert(numbers: Int32Array): Promise<void> {
    const { source, positions, schema, writer } = this.#prepared
    for (let i = 0; i < numbers.length; i++) positions[numbers[i]!] = writer.rows + i
    const selected = source.select(numbers)
    const pieces = schema.fields.map((_, i) => source.pieces(i, selected))
    for (const batches of assembleColumns(schema.fields, pieces)) await writer.add(this.#job, batches)
    if (this.#job.due) await this.#job.rest()
  }
}

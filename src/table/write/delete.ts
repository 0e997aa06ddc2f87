import type { Schema } from '@uwdata/flechette'
import { allRows, type Bitmap, clearTrailing, countRows, noRows } from '../../arrow/bitmap.ts'
import { schemaDifference } from '../../arrow/schema.ts'
import type { Predicate } from '../../predicate/index.ts'
import { prefetch } from '../../scheduling/prefetch.ts'
import { TimeSlice } from '../../scheduling/time-slice.ts'
import { type Deleted, readLive, writeDeletions } from '../format/deletions.ts'
import type { DeletionEntry, FragmentEntry, SegmentEntry } from '../format/manifest.ts'
import { groupsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { compile, prune } from '../scan/fragment.ts'
import { type PendingResult, type Scan, startScan } from '../scan/scan.ts'
import type { Storage } from '../storage/objects.ts'
import type { ApplyOptions, Change, Changed, Snapshot } from '../table-engine.ts'
import { reviseManifest, writeSegment } from './write-manifest.ts'

/** The result for a fragment: its new entry, or undefined when no row of the fragment is left. */
interface Outcome {
  readonly entry: FragmentEntry | undefined
  readonly deleted: number
}

/** The matches of a predicate in a fragment. With them, a newer base only costs what is new in that base. */
interface Evaluation {
  /** Rows that were not deleted when the predicate was evaluated; undefined for all rows. */
  readonly live: Bitmap | undefined
  readonly matches: Bitmap
}

/** A fragment whose outcome is known, or whose matching rows are being looked for. */
type Prepared =
  | { readonly entry: FragmentEntry; readonly outcome: Outcome }
  | {
      readonly entry: FragmentEntry
      readonly live: Bitmap | undefined
      readonly matches: PendingResult<Bitmap>
    }

/** What follows from the matching rows: an outcome, or deletions that must be written. */
type Settled = Outcome | Deleted

/** Deletes the rows that match a predicate. Fragments that statistics rule out are not read. */
export function deleteChange(storage: Storage, text: string): Change {
  return new Deletion(storage, text)
}

class Deletion implements Change {
  readonly #storage: Storage
  readonly #text: string
  /** All bases see the same time. */
  readonly #now: number
  #compiled: { readonly schema: Schema; readonly predicate: Predicate } | undefined
  readonly #evaluations = new Map<string, Evaluation>()
  readonly #outcomes = new Map<string, Outcome>()

  constructor(storage: Storage, text: string) {
    this.#storage = storage
    this.#text = text
    this.#now = storage.now()
  }

  async apply(base: Snapshot, options: ApplyOptions = {}): Promise<Changed> {
    const snapshot = base as LoadedSnapshot
    const { prefix, schema } = snapshot
    const timeSlice = new TimeSlice(options.signal)
    const predicate = await this.#predicate(schema, timeSlice)
    const rowsTotal = snapshot.rows + snapshot.deletedRows
    const scan = await startScan(this.#storage, snapshot, predicate, timeSlice)
    const segments: SegmentEntry[] = []
    let tail: readonly FragmentEntry[] = []
    // Deletions are written while the scan goes on. All of them are awaited before the result is returned.
    const writes: Promise<void>[] = []
    const keep = (write: Promise<void>) => {
      write.catch(() => {})
      writes.push(write)
    }
    let affected = 0
    let rowsDone = 0
    try {
      for await (const { segment, entries } of groupsOf(this.#storage, snapshot)) {
        const settled: { readonly entry: FragmentEntry; readonly found: Settled }[] = []
        const prepare = (entry: FragmentEntry) => this.#prepare(snapshot, predicate, entry, scan)
        for await (const prepared of prefetch(entries, prepare, scan)) {
          const { entry } = prepared
          settled.push({ entry, found: await settle(prepared) })
          rowsDone += entry.rows
          options.onProgress?.({ rowsDone, rowsTotal })
          if (timeSlice.due) await timeSlice.rest()
        }
        const outcomes = this.#outcomesOf(prefix, settled, keep)
        const kept = outcomes.flatMap(({ entry }) => entry ?? [])
        for (const { deleted } of outcomes) affected += deleted
        if (segment === undefined) tail = kept
        else if (outcomes.every(({ entry }, i) => entry === entries[i])) segments.push(segment)
        else if (kept.length > 0) segments.push(await writeSegment(this.#storage, prefix, kept))
      }
      options.signal?.throwIfAborted()
      const written = await reviseManifest(this.#storage, snapshot, { segments, tail }, options.version)
      await Promise.all(writes)
      return { snapshot: written, affected }
    } finally {
      scan.end()
      await Promise.allSettled(writes)
    }
  }

  async #predicate(schema: Schema, timeSlice: TimeSlice): Promise<Predicate> {
    const known = this.#compiled
    if (known && !schemaDifference(known.schema, schema)) return known.predicate
    const predicate = await compile(this.#text, schema, this.#now, timeSlice)
    this.#compiled = { schema, predicate }
    return predicate
  }

  /** Settles a fragment from an earlier evaluation or from statistics, or begins to evaluate it. */
  async #prepare(
    { prefix, schema }: LoadedSnapshot,
    predicate: Predicate,
    entry: FragmentEntry,
    scan: Scan,
  ): Promise<Prepared> {
    const known = this.#outcomes.get(keyOf(entry))
    if (known) return { entry, outcome: known }
    const verdict = prune(predicate, schema, entry)
    if (verdict === 'none') return { entry, outcome: { entry, deleted: 0 } }
    if (verdict === 'all') {
      return { entry, outcome: { entry: undefined, deleted: entry.rows - (entry.deletions?.count ?? 0) } }
    }
    const live = await readLive(this.#storage, prefix, entry)
    const earlier = this.#evaluations.get(entry.path)
    if (earlier && covers(earlier.live, live, entry.rows)) {
      return { entry, live, matches: async () => earlier.matches }
    }
    const found = await scan.begin(entry, 'rows')
    const matches = async () => {
      const matches = await found()
      this.#evaluations.set(entry.path, { live, matches })
      return matches
    }
    return { entry, live, matches }
  }

  /** Begins to write the deletions of a group of fragments. Once they are written, the outcomes are remembered. */
  #outcomesOf(
    prefix: string,
    settled: readonly { readonly entry: FragmentEntry; readonly found: Settled }[],
    keep: (write: Promise<void>) => void,
  ): Outcome[] {
    const fresh = settled.flatMap(({ found }) => ('rows' in found ? found : []))
    const { entries, written } = writeDeletions(this.#storage, prefix, fresh)
    const next = entries.values()
    const outcomes = settled.map(({ entry, found }) =>
      'rows' in found ? deleting(entry, next.next().value!) : found,
    )
    const remember = () => {
      for (const [i, { entry }] of settled.entries()) this.#outcomes.set(keyOf(entry), outcomes[i]!)
    }
    keep(written.then(remember))
    return outcomes
  }
}

/** Waits for the matching rows. */
async function settle(prepared: Prepared): Promise<Settled> {
  if ('outcome' in prepared) return prepared.outcome
  const { entry, live } = prepared
  return without(entry, live, await prepared.matches())
}

function without(entry: FragmentEntry, live: Bitmap | undefined, matches: Bitmap): Settled {
  const { rows } = entry
  const before = entry.deletions?.count ?? 0
  // Without earlier deletions, the matching rows are the deleted ones.
  const deleted = live ? eitherGone(live, matches, rows) : matches
  const count = countRows(deleted)
  if (count === before) return { entry, deleted: 0 }
  if (count === rows) return { entry: undefined, deleted: rows - before }
  return { rows, deleted, count }
}

/** Rows that were deleted before, and rows that match. */
function eitherGone(live: Bitmap, matches: Bitmap, rows: number): Bitmap {
  const deleted = noRows(rows)
  for (let q = 0; q < deleted.length; q++) deleted[q] = ~live[q]! | matches[q]!
  clearTrailing(deleted, rows)
  return deleted
}

function deleting(entry: FragmentEntry, deletions: DeletionEntry): Outcome {
  return { entry: { ...entry, deletions }, deleted: deletions.count - (entry.deletions?.count ?? 0) }
}

/** Identifies a fragment together with its deletions so far. */
function keyOf({ path, deletions }: FragmentEntry): string {
  return `${path} ${deletions?.path ?? ''}`
}

/** Whether every row that is live now was live then. */
function covers(then: Bitmap | undefined, now: Bitmap | undefined, rows: number): boolean {
  if (then === undefined) return true
  const there = now ?? allRows(rows)
  return there.every((word, i) => (word & ~then[i]!) === 0)
}

import type { Schema } from '@uwdata/flechette'
import { allRows, type Bitmap, clearTrailing, countRows, noRows } from '../../arrow/bitmap.ts'
import { schemaDifference } from '../../arrow/schema.ts'
import type { Predicate } from '../../predicate/index.ts'
import { ahead } from '../../scheduling/prefetch.ts'
import { Pace } from '../../scheduling/time-slice.ts'
import { type Deleted, readLive, writeDeletions } from '../format/deletions.ts'
import type { DeletionEntry, FragmentEntry, SegmentEntry } from '../format/manifest.ts'
import { groupsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { compile, prune } from '../scan/fragment.ts'
import { type Begun, type Scan, startScan } from '../scan/scan.ts'
import type { Storage } from '../storage/objects.ts'
import type { ApplyOptions, Change, Changed, Snapshot } from '../table-engine.ts'
import { reviseManifest, writeSegment } from './write-manifest.ts'

/** What became of a fragment: its new entry, or none when nothing of it is left. */
interface Outcome {
  readonly entry: FragmentEntry | undefined
  readonly deleted: number
}

/** What a predicate was found to hold for, so that a newer base costs only what is new in it. */
interface Memory {
  /** Rows that were not deleted when the predicate was evaluated; undefined when all were there. */
  readonly live: Bitmap | undefined
  readonly matches: Bitmap
}

/** A fragment whose outcome is known, or whose matching rows are being looked for. */
type Prepared =
  | { readonly entry: FragmentEntry; readonly outcome: Outcome }
  | { readonly entry: FragmentEntry; readonly live: Bitmap | undefined; readonly matches: Begun<Bitmap> }

/** What follows from the rows that match: an outcome, or that more rows of the fragment are deleted. */
type Settled = Outcome | Deleted

/** Deletes the rows a predicate holds for: fragments it does not touch are neither read (if their statistics tell) nor written. */
export function deleteChange(storage: Storage, text: string): Change {
  return new Deletion(storage, text)
}

class Deletion implements Change {
  readonly #storage: Storage
  readonly #text: string
  /** One time for all bases it is applied to. */
  readonly #now: number
  #compiled: { readonly schema: Schema; readonly predicate: Predicate } | undefined
  readonly #memories = new Map<string, Memory>()
  readonly #outcomes = new Map<string, Outcome>()

  constructor(storage: Storage, text: string) {
    this.#storage = storage
    this.#text = text
    this.#now = storage.now()
  }

  async apply(base: Snapshot, options: ApplyOptions = {}): Promise<Changed> {
    const snapshot = base as LoadedSnapshot
    const { prefix, schema } = snapshot
    const pace = new Pace(options.signal)
    const predicate = await this.#predicate(schema)
    const rowsTotal = snapshot.rows + snapshot.deletedRows
    const scan = await startScan(this.#storage, snapshot, predicate, pace)
    const segments: SegmentEntry[] = []
    let tail: readonly FragmentEntry[] = []
    // What these refer to is written while the rest goes on, and is there before anybody is told of it.
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
        for await (const prepared of ahead(entries, prepare, scan)) {
          const { entry } = prepared
          settled.push({ entry, found: await settle(prepared) })
          rowsDone += entry.rows
          options.onProgress?.({ rowsDone, rowsTotal })
          if (pace.due) await pace.rest()
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

  async #predicate(schema: Schema): Promise<Predicate> {
    const known = this.#compiled
    if (known && !schemaDifference(known.schema, schema)) return known.predicate
    const predicate = await compile(this.#text, schema, this.#now)
    this.#compiled = { schema, predicate }
    return predicate
  }

  /** Settles a fragment from memory or statistics, or begins to evaluate it. */
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
    const remembered = this.#memories.get(entry.path)
    if (remembered && covers(remembered.live, live, entry.rows)) {
      return { entry, live, matches: async () => remembered.matches }
    }
    const found = await scan.begin(entry, 'rows')
    const matches = async () => {
      const matches = await found()
      this.#memories.set(entry.path, { live, matches })
      return matches
    }
    return { entry, live, matches }
  }

  /** Begins to write the deletions that a group of fragments needs; once written, what became of each is remembered. */
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

/** Waits for what matches. */
async function settle(prepared: Prepared): Promise<Settled> {
  if ('outcome' in prepared) return prepared.outcome
  const { entry, live } = prepared
  return without(entry, live, await prepared.matches())
}

function without(entry: FragmentEntry, live: Bitmap | undefined, matches: Bitmap): Settled {
  const { rows } = entry
  const before = entry.deletions?.count ?? 0
  // Where nothing was deleted before, what matches is what is deleted now: there is nothing to put together.
  const deleted = live ? eitherGone(live, matches, rows) : matches
  const count = countRows(deleted)
  if (count === before) return { entry, deleted: 0 }
  if (count === rows) return { entry: undefined, deleted: rows - before }
  return { rows, deleted, count }
}

/** Rows that are not live or match. */
function eitherGone(live: Bitmap, matches: Bitmap, rows: number): Bitmap {
  const deleted = noRows(rows)
  for (let q = 0; q < deleted.length; q++) deleted[q] = ~live[q]! | matches[q]!
  clearTrailing(deleted, rows)
  return deleted
}

function deleting(entry: FragmentEntry, deletions: DeletionEntry): Outcome {
  return { entry: { ...entry, deletions }, deleted: deletions.count - (entry.deletions?.count ?? 0) }
}

/** A fragment with the rows that were deleted so far. */
function keyOf({ path, deletions }: FragmentEntry): string {
  return `${path} ${deletions?.path ?? ''}`
}

/** Whether every row that is there now was there then. */
function covers(then: Bitmap | undefined, now: Bitmap | undefined, rows: number): boolean {
  if (then === undefined) return true
  const there = now ?? allRows(rows)
  return there.every((word, i) => (word & ~then[i]!) === 0)
}

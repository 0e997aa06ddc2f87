import type { Schema } from '@uwdata/flechette'
import { ahead } from './ahead.ts'
import { schemaDifference } from './arrow/schema.ts'
import { allRows, type Bitmap, countRows } from './bitmap.ts'
import { writeManifest, writeSegment } from './commit.ts'
import { readLive, writeDeletions } from './deletions.ts'
import { compile, prune, selectMatches } from './evaluate.ts'
import { readColumns } from './fragment-read.ts'
import type { FragmentEntry, SegmentEntry } from './manifest.ts'
import type { Storage } from './objects.ts'
import { Pace } from './pace.ts'
import type { Predicate } from './predicate/index.ts'
import { groupsOf, type LoadedSnapshot } from './snapshot.ts'
import type { ApplyOptions, Change, Changed, Snapshot } from './table-engine.ts'

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

/** Deletes the rows a predicate holds for: fragments it does not touch are neither read (if their statistics tell) nor written. */
export function deleteChange(storage: Storage, text: string): Change {
  return new Deletion(storage, text)
}

class Deletion implements Change {
  readonly #storage: Storage
  readonly #text: string
  #compiled: { readonly schema: Schema; readonly predicate: Predicate } | undefined
  readonly #memories = new Map<string, Memory>()
  readonly #outcomes = new Map<string, Outcome>()

  constructor(storage: Storage, text: string) {
    this.#storage = storage
    this.#text = text
  }

  async apply(base: Snapshot, options: ApplyOptions = {}): Promise<Changed> {
    const snapshot = base as LoadedSnapshot
    const { prefix, schema, body } = snapshot
    const pace = new Pace(options.signal)
    const predicate = await this.#predicate(schema)
    const rowsTotal = snapshot.rows + snapshot.deletedRows
    const segments: SegmentEntry[] = []
    let tail: readonly FragmentEntry[] = []
    let affected = 0
    let rowsDone = 0
    for await (const { segment, entries } of groupsOf(this.#storage, snapshot)) {
      const kept: FragmentEntry[] = []
      let touched = false
      const prepare = (entry: FragmentEntry) => this.#prepare(snapshot, predicate, entry)
      for await (const { entry, outcome, rows, live } of ahead(entries, prepare)) {
        const result = outcome ?? (await this.#evaluate(snapshot, predicate, entry, rows!, live, pace))
        if (result.entry) kept.push(result.entry)
        if (result.entry !== entry) touched = true
        affected += result.deleted
        rowsDone += entry.rows
        options.onProgress?.({ rowsDone, rowsTotal })
        if (pace.due) await pace.rest()
      }
      if (segment === undefined) tail = kept
      else if (!touched) segments.push(segment)
      else if (kept.length > 0) segments.push(await writeSegment(this.#storage, prefix, kept))
    }
    options.signal?.throwIfAborted()
    return {
      snapshot: await writeManifest(this.#storage, prefix, { ...body, segments, tail }, options.version),
      affected,
    }
  }

  async #predicate(schema: Schema): Promise<Predicate> {
    const known = this.#compiled
    if (known && !schemaDifference(known.schema, schema)) return known.predicate
    const predicate = await compile(this.#text, schema)
    this.#compiled = { schema, predicate }
    return predicate
  }

  /** Settles a fragment from memory or statistics, or reads what evaluating it needs. */
  async #prepare({ prefix, schema }: LoadedSnapshot, predicate: Predicate, entry: FragmentEntry) {
    const known = this.#outcomes.get(keyOf(entry))
    if (known) return { entry, outcome: known }
    const verdict = prune(predicate, schema, entry)
    if (verdict === 'none') return { entry, outcome: { entry, deleted: 0 } }
    if (verdict === 'all') {
      return { entry, outcome: { entry: undefined, deleted: entry.rows - (entry.deletions?.count ?? 0) } }
    }
    const live = await readLive(this.#storage, prefix, entry)
    const remembered = this.#memories.get(entry.path)
    if (remembered && covers(remembered.live, live, entry.rows)) return { entry, live, rows: remembered }
    return { entry, live, rows: await readColumns(this.#storage, prefix, schema, entry, predicate.columns) }
  }

  async #evaluate(
    { prefix }: LoadedSnapshot,
    predicate: Predicate,
    entry: FragmentEntry,
    rows: Memory | Awaited<ReturnType<typeof readColumns>>,
    live: Bitmap | undefined,
    pace: Pace,
  ): Promise<Outcome> {
    const matches = 'matches' in rows ? rows.matches : await selectMatches(predicate, rows, live, pace)
    if (!('matches' in rows)) this.#memories.set(entry.path, { live, matches })
    const outcome = await this.#outcome(prefix, entry, live ?? allRows(entry.rows), matches)
    this.#outcomes.set(keyOf(entry), outcome)
    return outcome
  }

  async #outcome(prefix: string, entry: FragmentEntry, live: Bitmap, matches: Bitmap): Promise<Outcome> {
    const deleted = allRows(entry.rows)
    let fresh = 0
    let left = 0
    for (let i = 0; i < live.length; i++) {
      const before = live[i]!
      const after = before & ~matches[i]!
      if (after !== before) fresh = 1
      left |= after
      deleted[i]! &= ~after
    }
    if (fresh === 0) return { entry, deleted: 0 }
    if (left === 0) return { entry: undefined, deleted: countRows(live) }
    const deletions = await writeDeletions(this.#storage, prefix, entry.rows, deleted)
    return { entry: { ...entry, deletions }, deleted: deletions.count - (entry.deletions?.count ?? 0) }
  }
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

import { prefetch } from '../../../base/scheduling/prefetch.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { planFewRows } from '../read/few-rows.ts'
import { readColumns } from '../read/fragment-read.ts'
import { batchAt } from '../read/projection.ts'
import type { SearchTask } from '../scan/message.ts'
import { type FoundFragment, fragmentPlaces } from './fetch-rows.ts'
import { type Candidates, NearestRows } from './nearest.ts'
import { compareRows } from './search-fragment.ts'

/** Most candidates that wait to be compared. Each takes some 60 bytes. */
const maxWaiting = 1 << 18

/** Most fragments to read ahead, and about the most bytes of their rows. */
const maxAhead = 8
const aheadBytes = 32 << 20

interface Waiting {
  readonly position: number
  readonly lower: number
  readonly upper: number
}

/** Collects rows of all fragments that may be the nearest. Reads the vectors of those that still may be at the end. */
export class AllCandidates {
  readonly #job: Job
  readonly #snapshot: LoadedSnapshot
  readonly #task: SearchTask
  readonly #found: readonly NearestRows[]
  readonly #waiting: Waiting[][]
  #count = 0

  /** Adds the rows to `found` once their distances are known. */
  constructor(job: Job, snapshot: LoadedSnapshot, task: SearchTask, found: readonly NearestRows[]) {
    this.#job = job
    this.#snapshot = snapshot
    this.#task = task
    this.#found = found
    this.#waiting = found.map(() => [])
  }

  /** Adds the candidates of the last of `fragments`. */
  async add(candidates: readonly Candidates[], fragments: readonly FoundFragment[]): Promise<void> {
    const base = (fragments.length - 1) * fragmentPlaces
    for (const [q, { positions, lower, upper }] of candidates.entries()) {
      const waiting = this.#waiting[q]!
      for (let i = 0; i < positions.length; i++)
        waiting.push({ position: base + positions[i]!, lower: lower[i]!, upper: upper[i]! })
      this.#count += positions.length
    }
    if (this.#count <= maxWaiting) return
    this.#removeFar()
    if (this.#count > maxWaiting / 2) await this.compare(fragments)
  }

  /** Compares the candidates that are not surely farther than others. */
  async compare(fragments: readonly FoundFragment[]): Promise<void> {
    if (this.#count === 0) return
    this.#removeFar()
    const rowsOf = new Map<number, Set<number>>()
    for (const { position } of this.#waiting.flat()) {
      const fragment = Math.floor(position / fragmentPlaces)
      const rows = rowsOf.get(fragment) ?? new Set()
      rowsOf.set(fragment, rows.add(position - fragment * fragmentPlaces))
    }
    const ahead = { depth: maxAhead }
    const read = ([fragment, rows]: [number, Set<number>]) =>
      this.#read(
        fragments[fragment]!,
        fragment,
        [...rows].sort((a, b) => a - b),
        ahead,
      )
    for await (const { fragment, rows, batch, isPart } of prefetch(rowsOf, read, ahead)) {
      const index = new Map(rows.map((row, i) => [row, isPart ? i : row]))
      const base = fragment * fragmentPlaces
      for (const [q, waiting] of this.#waiting.entries()) {
        const numbers = waiting
          .map(({ position }) => position)
          .filter((position) => position >= base && position < base + fragmentPlaces)
          .sort((a, b) => a - b)
        const at = Int32Array.from(numbers, (position) => index.get(position - base)!)
        compareRows(this.#task, this.#task.queries[q]!, { batch, rows: at, numbers }, this.#found[q]!)
      }
      if (this.#job.due) await this.#job.rest()
    }
    for (const waiting of this.#waiting) waiting.length = 0
    this.#count = 0
  }

  /** Reads some rows of a fragment: only them, if that takes less time. */
  async #read(entry: FoundFragment, fragment: number, rows: readonly number[], ahead: { depth: number }) {
    const { storage } = this.#job
    const { path, name } = this.#task.column
    const builder = new RunBuilder()
    for (const row of rows) builder.add(row, row + 1)
    const selection = { runs: builder.done(), rows: rows.length }
    // The column has a copy instead of a place in the cache.
    const few = planFewRows(storage, this.#snapshot, entry, [path[0]!], selection, false)
    ahead.depth = few ? Math.min(maxAhead, Math.floor(aheadBytes / Math.max(1, few.bytes))) : 1
    const { columns } = await readColumns(storage, this.#snapshot, entry, [path[0]!], few)
    return { fragment, rows, batch: batchAt(path, name, columns), isPart: few !== undefined }
  }

  #removeFar(): void {
    this.#count = 0
    for (const [q, waiting] of this.#waiting.entries()) {
      const nearest = new NearestRows(this.#task.limit)
      const { positions, distances } = this.#found[q]!
      for (let i = 0; i < positions.length; i++) nearest.add(distances[i]!, positions[i]!)
      for (const { position, upper } of waiting) nearest.add(upper, position)
      const { bound } = nearest
      const still = waiting.filter(({ lower }) => lower <= bound)
      this.#waiting[q] = still
      this.#count += still.length
    }
  }
}

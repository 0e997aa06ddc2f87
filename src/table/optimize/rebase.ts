import {
  addRow,
  allRows,
  type Bitmap,
  clearTrailing,
  countRows,
  forEachRow,
  hasRow,
  noRows,
} from '../../arrow/bitmap.ts'
import { type Deleted, readLive, writeDeletions } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { Storage } from '../storage/objects.ts'
import type { Merged, Source } from './merge.ts'
import { isWorthwhile } from './plan.ts'

/**
 * Merged fragments that can replace their sources in a later version, too. Rows that were deleted since are marked as
 * deleted in the new fragments.
 */
export class RebasableMerge {
  readonly #storage: Storage
  readonly #prefix: string
  readonly #merged: Merged
  /** The result of the last rebase. The next version usually has the same sources, with rows added elsewhere. */
  #last: { readonly key: string; readonly entries: readonly FragmentEntry[] | undefined } | undefined

  constructor(storage: Storage, prefix: string, merged: Merged) {
    this.#storage = storage
    this.#prefix = prefix
    this.#merged = merged
  }

  get paths(): Iterable<string> {
    return this.#merged.sources.keys()
  }

  /** Whether the second of two sources came after the first. */
  comesAfter(first: string, second: string): boolean {
    const { sources } = this.#merged
    return sources.get(second)!.start > sources.get(first)!.start
  }

  /**
   * The fragments that hold the remaining rows of some sources, which are given in their order. Undefined when a rebase
   * is impossible or not worthwhile. A source that is not given has no row left.
   */
  async rebaseOnto(found: readonly FragmentEntry[]): Promise<readonly FragmentEntry[] | undefined> {
    const { sources, written } = this.#merged
    const changed = found.filter(({ path, deletions }) => sources.get(path)!.deletions !== deletions?.path)
    if (changed.length === 0 && found.length === sources.size) return written
    const key = found.map(({ path, deletions }) => `${path} ${deletions?.path ?? ''}`).join('\n')
    if (this.#last?.key !== key) this.#last = { key, entries: await this.#without(found) }
    return this.#last.entries
  }

  async #without(found: readonly FragmentEntry[]): Promise<readonly FragmentEntry[] | undefined> {
    const { sources, rows } = this.#merged
    const byPath = new Map(found.map((entry) => [entry.path, entry]))
    const deleted = noRows(rows)
    for (const source of sources.values()) {
      const fits = await this.#mark(source, byPath.get(source.path), deleted)
      if (!fits) return undefined
    }
    // When most rows are deleted by now, the old fragments are better.
    if (countRows(deleted) * 2 > rows) return undefined
    const entries = await this.#deleting(deleted)
    return isWorthwhile(found, entries) ? entries : undefined
  }

  /** Marks the merged rows that a source has lost. False when a row that was deleted in the source is back. */
  async #mark(source: Source, now: FragmentEntry | undefined, deleted: Bitmap): Promise<boolean> {
    if (now && now.deletions?.path === source.deletions) return true
    const then = source.live ?? allRows(source.rows)
    const live = now
      ? ((await readLive(this.#storage, this.#prefix, now)) ?? allRows(source.rows))
      : undefined
    if (live?.some((word, i) => (word & ~then[i]!) !== 0)) return false
    let row = source.start
    forEachRow(then, (old) => {
      if (live === undefined || !hasRow(live, old)) addRow(deleted, row)
      row++
    })
    return true
  }

  /** The new fragments without the rows marked. */
  async #deleting(deleted: Bitmap): Promise<FragmentEntry[]> {
    const touched = new Map<FragmentEntry, Deleted>()
    const kept: FragmentEntry[] = []
    let start = 0
    for (const entry of this.#merged.written) {
      const { rows } = entry
      const part = partOf(deleted, start, rows)
      start += rows
      const count = countRows(part)
      if (count < rows) kept.push(entry)
      if (count > 0 && count < rows) touched.set(entry, { rows, deleted: part, count })
    }
    const { entries: deletions, written } = writeDeletions(this.#storage, this.#prefix, [...touched.values()])
    await written
    const entries = new Map(
      [...touched.keys()].map((entry, i) => [entry, { ...entry, deletions: deletions[i]! }]),
    )
    return kept.map((entry) => entries.get(entry) ?? entry)
  }
}

/** The bits from `start` on, as many as there are rows. */
function partOf(bitmap: Bitmap, start: number, rows: number): Bitmap {
  const part = noRows(rows)
  const first = start >>> 5
  const shift = start & 31
  for (let q = 0; q < part.length; q++) {
    const next = shift === 0 ? 0 : (bitmap[first + q + 1] ?? 0) << (32 - shift)
    part[q] = (bitmap[first + q]! >>> shift) | next
  }
  clearTrailing(part, rows)
  return part
}

import { addRow, allRows, type Bitmap, countRows, forEachRow, hasRow, noRows } from '../../arrow/bitmap.ts'
import { readLive } from '../format/deletions.ts'
import { contentKey, type FragmentEntry, type StoredLayout } from '../format/manifest.ts'
import type { Storage } from '../storage/objects.ts'
import { withoutRows } from '../write/without-rows.ts'
import type { Merged, Source } from './merge.ts'
import { isWorthwhile } from './plan.ts'

/**
 * Merged fragments that can replace their sources in later versions, where rows deleted since are marked as deleted.
 */
export class RebasableMerge {
  readonly #storage: Storage
  readonly #prefix: string
  readonly #merged: Merged
  /** The last result. The next version usually has the same sources, with rows added elsewhere. */
  #last: { readonly key: string; readonly entries: readonly FragmentEntry[] | undefined } | undefined

  constructor(storage: Storage, prefix: string, merged: Merged) {
    this.#storage = storage
    this.#prefix = prefix
    this.#merged = merged
  }

  /** The columns of the merged fragments. */
  get layout(): StoredLayout {
    return this.#merged.layout
  }

  get paths(): Iterable<string> {
    return this.#merged.sources.keys()
  }

  /** Whether the second source follows the first. */
  comesAfter(first: string, second: string): boolean {
    const { sources } = this.#merged
    return sources.get(second)!.start > sources.get(first)!.start
  }

  /**
   * The fragments with the remaining rows of the sources in `found`, which are in order. Undefined if a rebase is
   * impossible or not worthwhile. A source that is not in `found` has no row left. One with other files than before has
   * columns that were not merged.
   */
  async rebaseOnto(found: readonly FragmentEntry[]): Promise<readonly FragmentEntry[] | undefined> {
    const { sources, written } = this.#merged
    if (found.some((entry) => sources.get(entry.path)!.content !== contentKey(entry))) return undefined
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
    // If most rows are deleted by now, the old fragments are better.
    if (countRows(deleted) * 2 > rows) return undefined
    const entries = await withoutRows(this.#storage, this.#prefix, this.#merged.written, deleted)
    return isWorthwhile(found, entries, this.#merged.saves) ? entries : undefined
  }

  /** Marks the merged rows that a source has lost. False if a row that was deleted in the source was restored. */
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
}

import { CatalogError } from '../../../base/errors.ts'
import { addRow, allRows, type Bitmap, countRows, forEachRow, hasRow, noRows } from '../../arrow/bitmap.ts'
import { readLive, withoutRows } from '../format/deletions.ts'
import {
  contentKey,
  type FragmentEntry,
  type SegmentEntry,
  type StoredColumns,
  type StoredLayout,
} from '../format/manifest.ts'
import { fragmentsOf, groupsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import {
  decodeTableSchema,
  idsOfSchema,
  lacks,
  storedColumnsOf,
  type TableFiles,
  type TableSchema,
  withLayout,
  withLayoutKey,
} from '../format/table-schema.ts'
import { withoutFiles } from '../indexes/broken-indexes.ts'
import { IndexBuilder } from '../indexes/index-builder.ts'
import { type FoundField, indexedFields, lackingIn } from '../indexes/indexed-fields.ts'
import { Job } from '../job.ts'
import type { Storage } from '../storage/storage.ts'
import type { ApplyOptions, Change, ChangeResult, OptimizeOptions, Snapshot } from '../table-engine.ts'
import { reviseManifest } from '../write/write-manifest.ts'
import { type Merged, merge, type Source } from './merge.ts'
import { isWorthwhile, planMerges } from './plan.ts'

const none: ReadonlySet<string> = new Set()

/** Whether there is nothing to merge, and no index is missing or broken. Reads no rows. */
export async function isOptimized(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: OptimizeOptions,
): Promise<boolean> {
  const { fragmentRows } = storage
  const fields = indexedFields(snapshot)
  const { broken = none } = options
  const isIndexed = (entry: FragmentEntry) =>
    withoutFiles(entry, broken) === entry && lackingIn(entry, fields).length === 0
  for await (const group of planMerges(
    snapshot.schema,
    fragmentsOf(storage, snapshot),
    fragmentRows,
    options,
  )) {
    if (group.merge || !group.entries.every(isIndexed)) return false
  }
  return true
}

/**
 * Writes merged fragments for small fragments and those with many deleted rows, one after the other, and the indexes that
 * fragments lack, or whose files are broken. The change replaces the old fragments in any later version, and keeps rows that were added since.
 */
export async function optimizeRows(
  job: Job,
  base: LoadedSnapshot,
  options: OptimizeOptions,
): Promise<Change> {
  const { storage } = job
  const rowsTotal = base.rows + base.deletedRows
  const onRows = (rows: number) => job.report(rows, rowsTotal)
  const replacements: RebasableMerge[] = []
  const { broken = none } = options
  const indexing = new Indexing(job, base, broken)
  for await (const group of planMerges(
    base.schema,
    fragmentsOf(storage, base),
    storage.fragmentRows,
    options,
  )) {
    if (group.merge) {
      const merged = await merge(job, base, group.entries, 'live', onRows)
      if (isWorthwhile(group.entries, merged.written, merged.saves)) {
        replacements.push(new RebasableMerge(storage, base.prefix, merged))
        await indexing.addMerged(merged)
      } else await indexing.add(group.entries)
    } else {
      for (const { rows } of group.entries) onRows(rows)
      await indexing.add(group.entries)
    }
    if (job.due) await job.rest()
  }
  await indexing.finish()
  return new Optimization(storage, replacements, indexing.builder, broken)
}

/** Writes the indexes that the fragments of a version, or those merged of them, lack. */
class Indexing {
  readonly builder = new IndexBuilder()
  readonly #job: Job
  readonly #base: LoadedSnapshot
  readonly #fields: readonly FoundField[]
  readonly #broken: ReadonlySet<string>

  constructor(job: Job, base: LoadedSnapshot, broken: ReadonlySet<string>) {
    this.#job = job
    this.#base = base
    this.#fields = indexedFields(base)
    this.#broken = broken
  }

  add(entries: readonly FragmentEntry[]): Promise<void> {
    return this.#add(this.#base, entries)
  }

  async addMerged({ written, layout }: Merged): Promise<void> {
    const { prefix, schema, body } = this.#base
    const { key, stored } = withLayout(storedColumnsOf(schema), layout)
    const merged = key === '' ? schema : decodeTableSchema(body.schema, stored)
    await this.#add(
      { prefix, schema: merged },
      written.map((entry) => withLayoutKey(entry, key)),
    )
  }

  async #add(table: TableFiles, entries: readonly FragmentEntry[]): Promise<void> {
    for (const entry of entries) {
      try {
        await this.builder.add(this.#job, table, withoutFiles(entry, this.#broken), this.#fields)
      } catch (error) {
        // Rows that are damaged or missing do not keep others from being merged.
        if (!(error instanceof CatalogError && error.code === 'InvalidTableState')) throw error
      }
    }
  }

  finish(): Promise<void> {
    return this.builder.finish(this.#job, this.#base)
  }
}

class Optimization implements Change {
  readonly #storage: Storage
  readonly #byPath = new Map<string, RebasableMerge>()
  readonly #indexes: IndexBuilder
  readonly #broken: ReadonlySet<string>

  constructor(
    storage: Storage,
    replacements: readonly RebasableMerge[],
    indexes: IndexBuilder,
    broken: ReadonlySet<string>,
  ) {
    this.#storage = storage
    this.#indexes = indexes
    this.#broken = broken
    for (const one of replacements) for (const path of one.paths) this.#byPath.set(path, one)
  }

  /** Returns the base itself if nothing in it is replaced. */
  async apply(base: Snapshot, options?: ApplyOptions): Promise<ChangeResult> {
    const snapshot = base as LoadedSnapshot
    const job = new Job(this.#storage, options)
    const fields = indexedFields(snapshot)
    const walk = new Walk(this.#byPath, snapshot.schema)
    const segments: SegmentEntry[] = []
    const indexed = (entry: FragmentEntry) => this.#indexes.with(withoutFiles(entry, this.#broken), fields)
    const isUnchanged = (entry: FragmentEntry) => !this.#byPath.has(entry.path) && indexed(entry) === entry
    for await (const { segment, entries } of groupsOf(this.#storage, snapshot)) {
      // Entries before the first change stay in their segments. Later entries are packed into new segments.
      if (segment && walk.untouched && entries.every(isUnchanged)) {
        segments.push(segment)
        continue
      }
      for (const entry of entries) await walk.next(entry)
      if (job.due) await job.rest()
    }
    await walk.finish()
    const tail = walk.entries.map(indexed)
    const isIndexed = tail.some((entry, i) => entry !== walk.entries[i])
    if (walk.affected === 0 && !isIndexed) return { snapshot: base, affected: 0 }
    const changes = { columns: walk.columns, segments, tail }
    return { snapshot: await reviseManifest(job, snapshot, changes), affected: walk.affected }
  }
}

/** Replaces the fragments of a version that were merged. */
class Walk {
  readonly entries: FragmentEntry[] = []
  /** Rows of replacements. */
  affected = 0
  /** The table's columns, with the layouts of merged fragments. */
  columns: StoredColumns | undefined
  readonly #byPath: ReadonlyMap<string, RebasableMerge>
  readonly #schema: TableSchema
  readonly #used = new Set<RebasableMerge>()
  #replacement: RebasableMerge | undefined
  #found: FragmentEntry[] = []

  constructor(byPath: ReadonlyMap<string, RebasableMerge>, schema: TableSchema) {
    this.#byPath = byPath
    this.#schema = schema
    this.columns = schema.columns?.stored
  }

  get untouched(): boolean {
    return this.entries.length === 0 && this.#found.length === 0
  }

  async next(entry: FragmentEntry): Promise<void> {
    const replacement = this.#byPath.get(entry.path)
    // Collects neighbours that were merged in this order, even if some of them are gone.
    if (replacement === undefined || !this.#continuesRun(replacement, entry)) await this.finish()
    if (replacement === undefined || this.#used.has(replacement)) {
      this.entries.push(entry)
      return
    }
    this.#replacement = replacement
    this.#found.push(entry)
  }

  async finish(): Promise<void> {
    const replacement = this.#replacement
    if (replacement === undefined) return
    const found = this.#found
    this.#replacement = undefined
    this.#found = []
    this.#used.add(replacement)
    const instead = this.#hasAll(replacement, found) ? await replacement.rebaseOnto(found) : undefined
    if (instead === undefined) {
      for (const entry of found) this.entries.push(entry)
      return
    }
    const layout = this.#layoutOf(replacement)
    for (const entry of instead) {
      this.affected += entry.rows - (entry.deletions?.count ?? 0)
      this.entries.push(withLayoutKey(entry, layout))
    }
  }

  /** Whether merged fragments have all columns that their sources have in this version. */
  #hasAll({ layout }: RebasableMerge, found: readonly FragmentEntry[]): boolean {
    const merged = new Set(layout.ids)
    const missing = idsOfSchema(this.#schema).filter((id) => !merged.has(id))
    return missing.length === 0 || found.every((entry) => lacks(this.#schema, entry, missing))
  }

  #layoutOf({ layout }: RebasableMerge): string {
    const { key, stored } = withLayout(this.columns ?? storedColumnsOf(this.#schema), layout)
    if (key !== '') this.columns = stored
    return key
  }

  #continuesRun(replacement: RebasableMerge, { path }: FragmentEntry): boolean {
    return this.#replacement === replacement && replacement.comesAfter(this.#found.at(-1)!.path, path)
  }
}

/**
 * Merged fragments that can replace their sources in later versions, where rows deleted since are marked as deleted.
 */
class RebasableMerge {
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

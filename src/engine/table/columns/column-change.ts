import { prefetch } from '../../../base/scheduling/prefetch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { covers, readLive } from '../format/deletions.ts'
import {
  type ColumnFile,
  contentKey,
  type FragmentEntry,
  type SegmentEntry,
  type StoredColumns,
  type StoredIndex,
} from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { storedColumnsOf, type TableSchema, withLayout, withSchema } from '../format/table-schema.ts'
import { withIndexesOf } from '../indexes/indexed-fields.ts'
import { Job } from '../job.ts'
import { readColumns } from '../read/fragment-read.ts'
import type { Compiling } from '../scan/compile.ts'
import type { Storage } from '../storage/storage.ts'
import type { ApplyOptions, ChangeResult, SchemaChange, Snapshot, WorkOptions } from '../table-engine.ts'
import { Growth } from '../write/growth.ts'
import { reviseFragments, reviseManifest, storeSchema } from '../write/write-manifest.ts'
import { ColumnFileWriter } from './column-file-writer.ts'
import { type FieldNode, fieldOf, idsOf, noMetadata } from './field-tree.ts'
import { bytesOfComputed, type ColumnWork, compactRows } from './make-columns.ts'

/** The columns of a table after a change. */
export interface ColumnEdit {
  readonly tree: readonly FieldNode[]
  readonly nextId: number
  /** Whether items of lists take a type that had none. */
  readonly typesItems?: boolean
  /** The work for each fragment; absent if only the schema changes. */
  readonly work?: ColumnWork | undefined
}

/** Plans the new columns of a schema. Refuses what the schema does not allow. */
export type EditColumns = (schema: TableSchema, job: Compiling) => Promise<ColumnEdit>

/** The completed work for the live rows of a fragment: a file written, or the rows checked. */
interface CompletedWork {
  readonly file: ColumnFile | undefined
  readonly live: Bitmap | undefined
}

/**
 * A change of a table's columns. New columns of a fragment are written to an additional file. The change is planned
 * again for each base, so that it fits earlier commits; work done for a fragment is reused.
 */
export class ColumnChange implements SchemaChange {
  readonly #storage: Storage
  readonly #edit: EditColumns
  #key = ''
  /** The completed work, by the content of fragments. */
  readonly #done = new Map<string, CompletedWork>()

  constructor(storage: Storage, edit: EditColumns) {
    this.#storage = storage
    this.#edit = edit
  }

  async check(base: Snapshot): Promise<void> {
    await this.#edit((base as LoadedSnapshot).schema, new Job(this.#storage))
  }

  async prepare(base: Snapshot, options: WorkOptions = {}): Promise<void> {
    const snapshot = base as LoadedSnapshot
    const job = new Job(this.#storage, options)
    const { work } = await this.#edit(snapshot.schema, job)
    if (work) await this.#work(job, snapshot, work)
  }

  async apply(base: Snapshot, { signal, version }: ApplyOptions = {}): Promise<ChangeResult> {
    const snapshot = base as LoadedSnapshot
    const job = new Job(this.#storage, { signal, version })
    const edit = await this.#edit(snapshot.schema, job)
    const { work } = edit
    if (work) await this.#work(job, snapshot, work)
    const { schema } = storeSchema({ ...snapshot.schema, fields: edit.tree.map(fieldOf) })
    let columns = columnsAfter(snapshot, edit)
    let layout = ''
    if (work && work.writes.length > 0) {
      const added = withLayout(columns!, fileLayout(work.writes))
      columns = added.stored
      layout = added.key
    }
    const indices = indicesAfter(snapshot, edit)
    const parts = await this.#fragments(job, snapshot, columns, layout, indices)
    const changes = { schema, columns, ...(indices && { indices }), ...parts }
    return { snapshot: await reviseManifest(job, snapshot, changes), affected: 0 }
  }

  /** Does the remaining work for the fragments of a version. */
  async #work(job: Job, snapshot: LoadedSnapshot, work: ColumnWork): Promise<void> {
    if (this.#key !== work.key) this.#done.clear()
    this.#key = work.key
    const rowsTotal = snapshot.rows + snapshot.deletedRows
    let nextRow = 0
    await this.#measure(job, snapshot, work)
    const maker = await ColumnFileWriter.start(job, snapshot, work, fileSchema(work.writes))
    const begin = async (entry: FragmentEntry) => {
      const firstRow = nextRow
      nextRow += entry.rows - (entry.deletions?.count ?? 0)
      const live = await readLive(this.#storage, snapshot.prefix, entry)
      const known = this.#done.get(contentKey(entry))
      // Values of restored rows, which were deleted at that time, were not computed.
      if (known === undefined || !covers(known.live, live, entry.rows)) {
        const file = work.isDone?.(entry) ? undefined : await maker.make({ entry, live, firstRow })
        this.#done.set(contentKey(entry), { file, live })
      }
      return entry.rows
    }
    try {
      for await (const rows of prefetch(fragmentsOf(this.#storage, snapshot), begin, maker)) {
        job.report(rows, rowsTotal)
        if (job.due) await job.rest()
      }
    } finally {
      maker.end()
    }
  }

  /** Refuses new columns with too many bytes in all. Computes the values for that only if their size is unknown. */
  async #measure(job: Job, snapshot: LoadedSnapshot, work: ColumnWork): Promise<void> {
    const growth = new Growth(this.#storage, snapshot)
    const rows = snapshot.rows + snapshot.deletedRows
    if (work.maxBytes) growth.check(work.maxBytes(rows))
    const { expressions = [] } = work
    const all = expressions.map(({ expression }) => expression)
    if (await growth.fits(all, rows)) return
    const columns = expressions.map((column) => ({ ...column, budget: column.expression.budget() }))
    let bytes = 0
    let nextRow = 0
    for await (const entry of fragmentsOf(this.#storage, snapshot)) {
      const firstRow = nextRow
      nextRow += entry.rows - (entry.deletions?.count ?? 0)
      if (this.#done.has(contentKey(entry))) continue
      const live = await readLive(this.#storage, snapshot.prefix, entry)
      const read = compactRows(await readColumns(this.#storage, snapshot, entry, work.reads), live)
      for await (const more of bytesOfComputed(columns, read, firstRow, job)) {
        bytes += more
        growth.check(bytes)
      }
    }
  }

  /**
   * The fragments of the new version: with their new files, and without files that have none of its columns. Given the
   * indexes of the new version, without the files of others.
   */
  async #fragments(
    job: Job,
    snapshot: LoadedSnapshot,
    columns: StoredColumns | undefined,
    layout: string,
    indices: readonly StoredIndex[] | undefined,
  ): Promise<{ segments: readonly SegmentEntry[]; tail: readonly FragmentEntry[] }> {
    const { segments: known, tail } = snapshot.body
    const revise = (given: FragmentEntry) => {
      const entry = withoutUnusedFiles(this.#withFile(given, layout), columns)
      return indices ? withIndexesOf(indices, entry) : entry
    }
    if (layout === '' && indices === undefined) return { segments: known, tail: tail.map(revise) }
    return reviseFragments(job, snapshot, revise)
  }

  #withFile(entry: FragmentEntry, layout: string): FragmentEntry {
    const file = layout === '' ? undefined : this.#done.get(contentKey(entry))?.file
    return file === undefined ? entry : { ...entry, files: [...(entry.files ?? []), { ...file, layout }] }
  }
}

/** The indexes of the new version, if the columns of some are gone. */
function indicesAfter(
  { body: { indices } }: LoadedSnapshot,
  { tree }: ColumnEdit,
): StoredIndex[] | undefined {
  const ids = new Set(idsOf(tree))
  const left = indices?.filter(({ field }) => ids.has(field))
  return left?.length === indices?.length ? undefined : left
}

/** The columns of the new version; undefined if all files of the table have the columns of the schema. */
export function columnsAfter(
  { schema: before, body }: LoadedSnapshot,
  { tree, nextId, typesItems }: ColumnEdit,
): StoredColumns | undefined {
  const ids = idsOf(tree)
  const stored = storedColumnsOf(before)
  const isSame = stored.ids.length === ids.length && stored.ids.every((id, i) => id === ids[i])
  if (isSame) return body.columns
  const columns = withSchema(stored, body.schema, ids, nextId)
  return typesItems ? { ...columns, typedItems: true } : columns
}

/** The entry without files whose columns are all gone. The first file remains, as it determines the number of rows. */
function withoutUnusedFiles(entry: FragmentEntry, columns: StoredColumns | undefined): FragmentEntry {
  if (entry.files === undefined || columns === undefined) return entry
  const ids = new Set(columns.ids)
  const isNeeded = ({ layout = '' }: ColumnFile) =>
    layout === columns.layout || columns.layouts[layout]!.ids.some((id) => ids.has(id))
  if (entry.files.every(isNeeded)) return entry
  const { files, ...rest } = entry
  const needed = files.filter(isNeeded)
  return needed.length === 0 ? rest : { ...rest, files: needed }
}

/**
 * The schema of a file of new columns. All columns are nullable there: nullability is checked by the table's schema.
 */
function fileSchema(writes: readonly FieldNode[]): TableSchema {
  const fields = writes.map((node) => ({ ...fieldOf(node), nullable: true }))
  return { fields, metadata: noMetadata }
}

function fileLayout(writes: readonly FieldNode[]) {
  return { schema: storeSchema(fileSchema(writes)).schema, ids: idsOf(writes) }
}

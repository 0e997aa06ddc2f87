import type { Schema, Table } from '@uwdata/flechette'
import type { RowStream } from '../arrow/input/row-stream.ts'
import { decodeSchema } from '../arrow/ipc/decode.ts'
import { queryChanges, streamChanges } from '../table/changes/changes.ts'
import { ReportedWork } from '../table/job.ts'
import type { ChangesOptions, WorkOptions } from '../table/table-engine.ts'
import { answerOf } from './answer.ts'
import { Bridge } from './bridge.ts'
import { applyChange, ownColumns, type RowChange, type RowsChanged } from './change.ts'
import { type DatasetToCompare, lancePair } from './changes/changes.ts'
import type { DatasetToOpen, DatasetToRead, RowsToScan } from './datasets.ts'
import { cannotOpen, fromLance } from './errors.ts'
import { type LanceIndexFound, lanceIndexes, prewarmLanceIndex } from './indexes.ts'
import { columnsToWrite } from './json-columns.ts'
import { type HeadOfBranch, KeptHandles } from './kept-handles.ts'
import { type Connection, loadLance, type NativeStats, type NativeTable, tooOld } from './native.ts'
import { buildQuery, type LanceQuery } from './query.ts'
import { type WriteSpec, writeSpecOf } from './write-spec.ts'

export type { Dataset, DatasetVersion, DatasetVersions, StagedVersion } from './bridge.ts'
export type { RowChange, RowsChanged } from './change.ts'
export type { DatasetToCompare } from './changes/changes.ts'
export type { DatasetFragment, DatasetLayout } from './changes/fragments.ts'
export type { DatasetToOpen, DatasetToRead } from './datasets.ts'
export type { LanceIndex, LanceIndexFound } from './indexes.ts'
export type { HeadOfBranch } from './kept-handles.ts'
export type { LanceQuery, SearchTuning, TextClause, TextSearch } from './query.ts'
export type { WriteSpec } from './write-spec.ts'

/** A branch of a dataset whose rows are to be changed. */
export interface DatasetToChange extends DatasetToOpen {
  /** What identifies its latest version. Undefined where no handle is to be kept for the next change. */
  readonly head?: HeadOfBranch | undefined
  /** The same after the change. */
  readonly headAfter?: () => HeadOfBranch | undefined
}

/** How an engine may use memory. */
export interface LanceOptions {
  /** Most bytes of indexes and of metadata that Lance keeps in memory. */
  readonly cacheBytes: number
}

/** Most versions that stay open after they were read. */
const keptOpen = 32

/** About the most bytes of a batch of a scan, as they lie in files. */
const batchBytes = 4 << 20

/** Rows of a batch of a scan. */
const batchRows = (perRow: number) =>
  Math.min(8_192, Math.max(16, Math.floor(batchBytes / Math.max(1, perRow))))

interface Opened {
  readonly name: string
  readonly table: Promise<NativeTable>
  users: number
}

/**
 * Reads and changes rows of Lance's datasets by Lance's own package, which is loaded by the first of them. The engine knows
 * locations and versions, and no names of tables.
 */
export class LanceEngine {
  readonly #options: LanceOptions
  #bridge = new Bridge()
  #connection: Promise<Connection> | undefined
  /** By the keys of versions, the one that was used last at the end. */
  readonly #opened = new Map<string, Opened>()

  /** Handles of the latest versions of branches, for the next change of each. */
  readonly #changing = new KeptHandles(({ name, table }) => {
    table.close()
    this.#bridge.remove(name)
  })

  constructor(options: LanceOptions) {
    this.#options = options
  }

  /** Counts all rows of a version, or those that match a predicate. */
  count(dataset: DatasetToRead, predicate: string | undefined, work: WorkOptions): Promise<number> {
    return this.#read(dataset, work, (table) => table.countRows(predicate))
  }

  /** Rows as the bytes of an Arrow IPC file. */
  query(dataset: DatasetToRead, asked: LanceQuery): Promise<Uint8Array> {
    return this.#read(dataset, asked, async (table) =>
      answerOf(await buildQuery(await loadLance(), table, asked), asked),
    )
  }

  /** Columns of some rows of a version, in the order in which it has them, as batches of Arrow that are read on demand. */
  async *scan(
    dataset: DatasetToRead,
    { columns, offset, limit }: RowsToScan,
    { signal }: WorkOptions,
  ): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted()
    const opened = this.#open(dataset)
    opened.users++
    try {
      const table = await abortable(signal, opened.table)
      const { totalBytes, numRows } = await abortable(signal, table.stats())
      const query = table.query()
      query.selectColumns(columns)
      query.offset(offset)
      query.limit(limit)
      const batches = await abortable(signal, query.execute(batchRows(totalBytes / Math.max(1, numRows))))
      for (;;) {
        const batch = await abortable(signal, batches.next())
        if (batch === null) return
        yield batch
      }
    } catch (error) {
      if (signal?.aborted) throw error
      throw fromLance(error, dataset.shown)
    } finally {
      opened.users--
      this.#evict()
    }
  }

  /** The rows that differ between two versions, as an Arrow IPC file; in parts, if `inParts` and there are many. */
  async changes(
    from: DatasetToCompare,
    to: DatasetToCompare,
    options: ChangesOptions,
    inParts: boolean,
  ): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
    const pair = await lancePair(this, from, to, options)
    return (inParts ? streamChanges : queryChanges)(new ReportedWork(options), pair, options)
  }

  /** Lance's plan of a query, a line for each step, the last one first. */
  explain(dataset: DatasetToRead, asked: LanceQuery): Promise<readonly string[]> {
    return this.#read(dataset, asked, async (table) => {
      const query = await buildQuery(await loadLance(), table, asked)
      const plan = await query.explainPlan(true)
      return plan.trimEnd().split('\n')
    })
  }

  /** Sizes of a version. */
  stats(dataset: DatasetToRead): Promise<NativeStats> {
    return this.#read(dataset, {}, (table) => table.stats())
  }

  /** The indexes of a version, by name. */
  indexes(dataset: DatasetToRead): Promise<readonly LanceIndexFound[]> {
    return this.#read(dataset, {}, lanceIndexes)
  }

  /** Reads an index of a version into the memory that Lance may use. Throws `TableIndexNotFound`. */
  prewarm(dataset: DatasetToRead, name: string): Promise<void> {
    return this.#read(dataset, {}, (table) => prewarmLanceIndex(table, name))
  }

  /** How writers that gather rows in memory share them out. Undefined where none do. */
  writeSpec(dataset: DatasetToRead): Promise<WriteSpec | undefined> {
    return this.#read(dataset, {}, writeSpecOf)
  }

  /** The columns of a version; `metadata` is the schema metadata. */
  schema(dataset: DatasetToRead): Promise<Schema> {
    return this.#read(dataset, {}, async (table) => decodeSchema(await table.schema()))
  }

  /**
   * Changes the latest version of a branch. Lance commits through the dataset's own `create`, and does its work again
   * after a conflict. `make` gets the columns in which rows are written, and says what to change.
   */
  async change(
    dataset: DatasetToChange,
    make: (schema: Schema) => RowChange | Promise<RowChange>,
    { signal }: WorkOptions,
  ): Promise<RowsChanged> {
    signal?.throwIfAborted()
    const kept = this.#changing.take(dataset.head)
    const name = kept?.name ?? this.#bridge.add(dataset)
    if (kept) this.#bridge.set(name, dataset)
    let table = kept?.table
    let isKept = false
    try {
      table ??= await this.#openTable(name, dataset).catch((error) => {
        throw cannotOpen(error, dataset.shown)
      })
      const change = await make(await columnsToWrite(table))
      signal?.throwIfAborted()
      const changed = await applyChange(await loadLance(), table, change)
      const head = isOfRows(change) ? dataset.headAfter?.() : undefined
      isKept = head !== undefined && (await table.version()) === head.version
      if (isKept) this.#changing.keep(head!, { name, table })
      return changed
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw fromLance(error, dataset.shown)
    } finally {
      if (!isKept) {
        table?.close()
        this.#bridge.remove(name)
      }
    }
  }

  /**
   * Makes a dataset with rows, as version 1, where there is none. Lance commits through the dataset's own `create`.
   * Answers with the number of rows.
   */
  async create(dataset: DatasetToOpen, rows: Table | RowStream, { signal }: WorkOptions): Promise<number> {
    signal?.throwIfAborted()
    const name = this.#bridge.add(dataset)
    try {
      this.#connection ??= this.#connect()
      const { inner } = await this.#connection
      if (typeof inner?.createTable !== 'function') throw tooOld()
      const { bytes, affected } = await ownColumns(rows)
      signal?.throwIfAborted()
      const table = await inner.createTable(name, bytes, 'create', [])
      table.close()
      return affected
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw fromLance(error, dataset.shown)
    } finally {
      this.#bridge.remove(name)
    }
  }

  /** Closes all handles and the listener. A later call would open them again. */
  async close(): Promise<void> {
    const opened = [...this.#opened.values()]
    this.#opened.clear()
    this.#changing.clear()
    for (const one of opened) await this.#release(one)
    const connection = this.#connection
    this.#connection = undefined
    await connection?.then((found) => found.close()).catch(() => {})
    const bridge = this.#bridge
    this.#bridge = new Bridge()
    await bridge.close()
  }

  async #read<T>(
    dataset: DatasetToRead,
    { signal }: WorkOptions,
    read: (table: NativeTable) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    const opened = this.#open(dataset)
    opened.users++
    try {
      return await abortable(signal, opened.table.then(read))
    } catch (error) {
      if (signal?.aborted) throw error
      throw fromLance(error, dataset.shown)
    } finally {
      opened.users--
      this.#evict()
    }
  }

  /** The handle of a version. Each is opened once, and stays open for a while, since opening reads its manifest. */
  #open(dataset: DatasetToRead): Opened {
    const { key } = dataset
    const found = this.#opened.get(key)
    if (found) {
      this.#opened.delete(key)
      this.#opened.set(key, found)
      return found
    }
    const name = this.#bridge.add(dataset)
    const table = this.#openTable(name, dataset).catch((error) => {
      throw cannotOpen(error, dataset.shown)
    })
    const opened: Opened = { name, table, users: 0 }
    this.#opened.set(key, opened)
    opened.table.catch(() => {
      if (this.#opened.get(key) === opened) this.#opened.delete(key)
      this.#bridge.remove(name)
    })
    return opened
  }

  async #openTable(
    name: string,
    { branch, version }: DatasetToOpen & { readonly version?: number },
  ): Promise<NativeTable> {
    this.#connection ??= this.#connect()
    const connection = await this.#connection
    const { inner } = await connection.openTable(name, [], {
      ...(version !== undefined && { version }),
      ...(branch !== '' && { branch }),
    })
    if (typeof inner?.countRows !== 'function') throw tooOld()
    return inner
  }

  async #connect(): Promise<Connection> {
    try {
      const { connectNamespace, Session } = await loadLance()
      const { cacheBytes } = this.#options
      const session = new Session(BigInt(cacheBytes), BigInt(Math.ceil(cacheBytes / 4)))
      const uri = await this.#bridge.listen()
      return await connectNamespace('rest', { uri, headers: this.#bridge.headers }, { session })
    } catch (error) {
      // The package may be installed while the catalog is open.
      this.#connection = undefined
      throw error
    }
  }

  #evict(): void {
    for (const [key, opened] of this.#opened) {
      if (this.#opened.size <= keptOpen) return
      if (opened.users > 0) continue
      this.#opened.delete(key)
      void this.#release(opened)
    }
  }

  async #release({ name, table }: Opened): Promise<void> {
    this.#bridge.remove(name)
    await table.then((found) => found.close()).catch(() => {})
  }
}

/** Whether a change leaves its handle at the version that it made. */
function isOfRows({ kind }: RowChange): boolean {
  return kind === 'insert' || kind === 'delete' || kind === 'update' || kind === 'merge'
}

/** The work, or the reason of the signal as soon as that is aborted: Lance itself cannot be stopped. */
function abortable<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

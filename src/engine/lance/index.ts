import type { Schema, Table } from '@uwdata/flechette'
import type { RowStream } from '../arrow/input/row-stream.ts'
import { decodeArrow, decodeSchema } from '../arrow/ipc/decode.ts'
import { queryChanges, streamChanges } from '../table/changes/changes.ts'
import { ReportedWork } from '../table/job.ts'
import type { ChangesOptions, WorkOptions } from '../table/table-engine.ts'
import { answerOf } from './answer.ts'
import {
  type BlobsToRead,
  type BlobsWork,
  type BlobToRead,
  blobSizes,
  type FoundBlob,
  portionsOfBlob,
  readBlobPart,
  readBlobs,
} from './blobs.ts'
import { ownColumns, type RowChange, type RowsChanged } from './change.ts'
import { type DatasetToCompare, lancePair } from './changes/changes.ts'
import { columnsToWrite } from './columns.ts'
import { WatchedCommits } from './commits.ts'
import type { DatasetToChange, DatasetToOpen, DatasetToRead, RowsToScan } from './datasets.ts'
import { wholeExpression } from './expressions.ts'
import { type LanceIndexFound, lanceIndexes, prewarmLanceIndex } from './indexes.ts'
import { endedAfter, ProcessEnded } from './isolated/ended.ts'
import type { LancePackage, NativeStats, NativeTable } from './native.ts'
import { PreparedOnce } from './once.ts'
import { buildQuery, type LanceQuery } from './query.ts'
import { readRows, rowsOfAnswer, scanRows } from './scan.ts'
import type { LanceSession } from './session.ts'
import { errorOf, type LanceOptions, LanceSessions } from './sessions.ts'
import { type WriteSpec, writeSpecOf } from './write-spec.ts'

export type { BlobsToRead, BlobsWork, BlobToRead, FoundBlob } from './blobs.ts'
export type { Dataset, DatasetVersion, DatasetVersions, StagedVersion } from './bridge.ts'
export type { RowChange, RowsChanged } from './change.ts'
export type { DatasetToCompare } from './changes/changes.ts'
export type { DatasetFragment, DatasetLayout } from './changes/fragments.ts'
export type { DatasetGuard, DatasetToChange, DatasetToOpen, DatasetToRead } from './datasets.ts'
export type { LanceIndex, LanceIndexFound } from './indexes.ts'
export type { HeadOfBranch } from './kept-handles.ts'
export { inPortions } from './portions.ts'
export type { LanceQuery, SearchTuning, TextClause, TextSearch } from './query.ts'
export type { LanceOptions } from './sessions.ts'
export type { WriteSpec } from './write-spec.ts'

/**
 * Reads and changes rows of Lance's datasets by Lance's own package, which is loaded by the first of them: in this process,
 * or in one of its own. The engine knows locations and versions, and no names of tables.
 */
export class LanceEngine {
  readonly #sessions: LanceSessions

  constructor(options: LanceOptions) {
    this.#sessions = new LanceSessions(options)
  }

  /** Counts all rows of a version, or those that match a predicate. */
  count(dataset: DatasetToRead, predicate: string | undefined, work: WorkOptions): Promise<number> {
    return this.#read(dataset, work, (table) => table.countRows(wholeExpression(predicate)))
  }

  /** Rows as the bytes of an Arrow IPC file. */
  query(dataset: DatasetToRead, asked: LanceQuery): Promise<Uint8Array> {
    const isSearch = asked.search !== undefined || asked.text !== undefined
    return this.#read(dataset, asked, async (table, lance) => {
      const query = await buildQuery(lance, table, asked)
      return answerOf(query, asked, isSearch ? undefined : await rowsOfAnswer(table))
    })
  }

  /** Blobs of rows of a version as the bytes of an Arrow IPC file. */
  blobs(dataset: DatasetToRead, wanted: BlobsToRead, work: BlobsWork): Promise<Uint8Array> {
    return this.#read(dataset, work, (table) => readBlobs(table, dataset.shown, wanted, work))
  }

  /** One blob of a version, whose parts are read on demand. */
  async blob(dataset: DatasetToRead, wanted: BlobToRead, work: BlobsWork): Promise<FoundBlob> {
    const { column, rowId } = wanted
    const sizes = await this.#read(dataset, work, (table) =>
      blobSizes(table, dataset.shown, { column, rowIds: [rowId] }),
    )
    const part = (from: number, to: number) =>
      this.#read(dataset, work, (table) => readBlobPart(table, wanted, from, to))
    return {
      size: sizes.get(rowId)!,
      async *read(from, to) {
        for (const [start, end] of portionsOfBlob(from, to)) {
          await work.memory?.take(end - start)
          try {
            yield await part(start, end)
          } finally {
            work.memory?.give(end - start)
          }
        }
      },
    }
  }

  /** Columns of some rows of a version, in the order in which it has them, as batches of Arrow that are read on demand. */
  async *scan(
    dataset: DatasetToRead,
    { columns, offset, limit }: RowsToScan,
    work: WorkOptions,
  ): AsyncGenerator<Uint8Array> {
    const asked = { shown: dataset.shown, isChange: false, signal: work.signal }
    let done = 0
    const rest = () => ({ columns, offset: offset + done, limit: limit - done })
    const count = async (batch: Uint8Array) => {
      done += (await decodeArrow(batch)).numRows
    }
    for (;;) {
      const session = this.#sessions.enter()
      try {
        for await (const batch of scanRows(session, dataset, rest(), work)) {
          await count(batch)
          yield batch
        }
        return
      } catch (error) {
        if (!(error instanceof ProcessEnded) || error.isAtFault) throw errorOf(error, asked)
      } finally {
        this.#sessions.leave()
      }
      // The next rows alone, and then the rest beside others again.
      const next = rest()
      if (next.limit <= 0) return
      const batches = await this.#sessions.runAlone(asked, (session) =>
        session.read(dataset, work, (table) => readRows(table, next)),
      )
      if (batches.length === 0) return
      for (const batch of batches) {
        await count(batch)
        yield batch
      }
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
    return this.#read(dataset, asked, async (table, lance) => {
      const query = await buildQuery(lance, table, asked)
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

  /** The columns of a version, as rows are written into them. */
  columns(dataset: DatasetToRead): Promise<Schema> {
    return this.#read(dataset, {}, async (table) => columnsToWrite(await table.schema()))
  }

  /**
   * Changes the latest version of a branch. Lance commits through the dataset's own `create`, and does its work again
   * after a conflict. `make` gets the columns in which rows are written, and says what to change.
   */
  async change(
    dataset: DatasetToChange,
    make: (schema: Schema) => RowChange | Promise<RowChange>,
    work: WorkOptions,
  ): Promise<RowsChanged> {
    const prepared = new PreparedOnce(make)
    return this.#commit(dataset, work, prepared.counts, (session, watched) =>
      session.change(watched, (schema) => prepared.for(schema), work),
    )
  }

  /**
   * Makes a dataset with rows, as version 1, where there is none. Lance commits through the dataset's own `create`.
   * Answers with the number of rows.
   */
  async create(dataset: DatasetToOpen, rows: Table | RowStream, work: WorkOptions): Promise<number> {
    work.signal?.throwIfAborted()
    const { bytes, affected } = await ownColumns(rows)
    const changed = { affected }
    await this.#commit(
      dataset,
      work,
      () => changed,
      async (session, watched) => {
        await session.create(watched, bytes)
        return changed
      },
    )
    return affected
  }

  /** Closes all handles, the process of Lance and the listener. A later call would open them again. */
  close(): Promise<void> {
    return this.#sessions.close()
  }

  #read<T>(
    dataset: DatasetToRead,
    work: WorkOptions,
    read: (table: NativeTable, lance: LancePackage) => Promise<T>,
  ): Promise<T> {
    const asked = { shown: dataset.shown, isChange: false, signal: work.signal }
    return this.#sessions.run(asked, (session) => session.read(dataset, work, read))
  }

  /** Changes a dataset. `counts` are those of a change that was recorded, where they are known without Lance. */
  #commit<T extends DatasetToOpen>(
    dataset: T,
    { signal }: WorkOptions,
    counts: () => RowsChanged | undefined,
    change: (session: LanceSession, watched: T) => Promise<RowsChanged>,
  ): Promise<RowsChanged> {
    const { shown } = dataset
    return this.#sessions.run({ shown, isChange: true, signal }, async (session) => {
      const commits = new WatchedCommits(dataset)
      try {
        return await change(session, commits.dataset)
      } catch (error) {
        if (!(error instanceof ProcessEnded)) throw error
        const version = await commits.end()
        if (version === undefined) throw error
        const known = counts()
        if (known) return known
        throw endedAfter(error, shown, version)
      }
    })
  }
}

import { performance } from '../../../base/time.ts'
import type { ColumnFile, EncodedFile, FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { TableSchema } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { readColumns } from '../read/fragment-read.ts'
import type { ColumnTask } from '../scan/message.ts'
import { WorkerLost } from '../scan/pool.ts'
import { minPrefetchDepth } from '../scan/prefetch-depth.ts'
import { type FragmentThreads, type Sent, threadsFor } from '../scan/threads.ts'
import { ValueHold } from '../write/value-memory.ts'
import { storeSchema } from '../write/write-manifest.ts'
import { fragmentBytes, putFile } from '../write/write-rows.ts'
import type { ColumnWork } from './make-columns.ts'
import { makeColumns, type PendingFragment } from './make-columns.ts'

/** The cost of a row of a computed column, relative to evaluating a predicate on a row. */
const rowWork = 2

/** Most bytes of one value, which functions enforce, and of its offset. */
const bytesOfValue = (1 << 20) + 16

/** Bytes of files being made or waiting to be written. */
const maxBytes = 256 << 20

/** Makes new columns of a version's fragments, in worker threads if worthwhile, and writes them on this thread. */
export class ColumnFileWriter {
  readonly #job: Job
  readonly #snapshot: LoadedSnapshot
  readonly #work: ColumnWork
  readonly #file: TableSchema
  /** The schema as in manifests. */
  readonly #fileText: string
  readonly #threads: FragmentThreads | undefined
  /** Bytes of the largest file so far. */
  #largest = 0

  private constructor(
    job: Job,
    snapshot: LoadedSnapshot,
    work: ColumnWork,
    file: TableSchema,
    threads: FragmentThreads | undefined,
  ) {
    this.#job = job
    this.#snapshot = snapshot
    this.#work = work
    this.#file = file
    this.#fileText = threads ? storeSchema(file).schema : ''
    this.#threads = threads
  }

  /** `file` is the schema of the new files. */
  static async start(
    job: Job,
    snapshot: LoadedSnapshot,
    work: ColumnWork,
    file: TableSchema,
  ): Promise<ColumnFileWriter> {
    const threads = work.expressions && (await threadsFor(job, snapshot, rowWork))
    return new ColumnFileWriter(job, snapshot, work, file, threads)
  }

  /**
   * How many fragments to begin while one is written. Without threads, more than one would only take more memory. Each
   * thread makes one file while another one is written. The size of files is known after the first one.
   */
  get depth(): number {
    const workers = this.#threads?.workers ?? 0
    if (workers === 0 || this.#largest === 0) return 1
    return Math.max(1, Math.min(workers * 2, Math.floor(maxBytes / this.#largest)) - 1)
  }

  /** Writes the new columns of a fragment; undefined if there are none. */
  async make(pending: PendingFragment<FragmentEntry>): Promise<ColumnFile | undefined> {
    const memory = new ValueHold()
    const bytes = this.#bytesFor(pending.entry)
    try {
      const waits = memory.take(bytes, bytes, this.#job.signal)
      if (waits) await waits
      return await this.#make(pending)
    } finally {
      memory.release()
    }
  }

  /** About the most bytes that are held for a fragment. Values are in memory twice while they are joined. */
  #bytesFor({ rows }: FragmentEntry): number {
    const { expressions = [] } = this.#work
    const most = expressions.reduce(
      (sum, { expression }) =>
        sum +
        Math.min(
          rows * bytesOfValue,
          expression.mostBytes(rows, () => Number.POSITIVE_INFINITY),
        ),
      0,
    )
    // Fragments of a table are usually similar.
    const likely = this.#largest === 0 ? fragmentBytes : this.#largest
    return 2 * Math.min(most, likely, fragmentBytes)
  }

  async #make(pending: PendingFragment<FragmentEntry>): Promise<ColumnFile | undefined> {
    const sent = this.#send(pending)
    const made = await sent?.answer.catch((error: unknown) => {
      if (!(error instanceof WorkerLost)) throw error
      return undefined
    })
    const file = made ?? (await this.#makeHere(pending))
    if (file === undefined) return undefined
    this.#largest = Math.max(this.#largest, file.size)
    try {
      return await putFile(this.#job.storage, this.#snapshot.prefix, file)
    } finally {
      if (made) sent!.giveBack(made)
    }
  }

  /** Stops work of threads that is not needed any more. */
  end(): void {
    this.#threads?.end()
  }

  /** Requests the file of a fragment from a worker thread; undefined if there is none. */
  #send({ entry, firstRow }: PendingFragment<FragmentEntry>): Sent<EncodedFile> | undefined {
    const { expressions = [] } = this.#work
    const wanted: ColumnTask = {
      expressions: expressions.map(({ expression: { text, now } }) => ({ text, now })),
      file: this.#fileText,
      firstRow,
    }
    const task = { predicate: undefined, now: undefined, wanted, depth: minPrefetchDepth }
    const budgets = expressions.map(({ budget }) => budget)
    return this.#threads?.send(entry, task, budgets)
  }

  async #makeHere(pending: PendingFragment): Promise<EncodedFile | undefined> {
    const start = performance.now()
    const from = await readColumns(this.#job.storage, this.#snapshot, pending.entry, this.#work.reads)
    const file = await makeColumns(from, this.#work, this.#file, pending, this.#job)
    this.#threads?.spend(performance.now() - start)
    return file
  }
}

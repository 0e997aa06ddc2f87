import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import type { Storage } from './storage/storage.ts'
import type { ApplyOptions } from './table-engine.ts'

/** The work of one call: when it pauses and stops, and the progress that it reports. */
export class ReportedWork extends TimeSlice {
  readonly #onProgress: ApplyOptions['onProgress']
  #rowsDone = 0

  /** Throws the signal's reason if the signal has aborted. */
  constructor({ signal, onProgress }: Pick<ApplyOptions, 'signal' | 'onProgress'>) {
    super(signal)
    this.#onProgress = onProgress
  }

  /** Reports that further rows are done, of `rowsTotal` in all. */
  report(rows: number, rowsTotal: number): void {
    this.#rowsDone += rows
    this.#onProgress?.({ rowsDone: this.#rowsDone, rowsTotal })
  }
}

/** The work of one call on a table, and its storage. Functions that only pause take the classes above it. */
export class Job extends ReportedWork {
  readonly storage: Storage
  /** The number of the version to be written, if known. */
  readonly version: number | undefined

  /** Throws the signal's reason if the signal has aborted. */
  constructor(storage: Storage, work: ApplyOptions = {}) {
    super(work)
    this.storage = storage
    this.version = work.version
  }
}

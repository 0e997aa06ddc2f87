import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import type { Storage } from './storage/storage.ts'
import type { ApplyOptions } from './table-engine.ts'

/**
 * The work of one call on a table: its storage, when it pauses and stops, and the progress that it reports. Functions
 * that only pause take the class below it.
 */
export class Job extends TimeSlice {
  readonly storage: Storage
  /** The number of the version to be written, if known. */
  readonly version: number | undefined
  readonly #onProgress: ApplyOptions['onProgress']
  #rowsDone = 0

  /** Throws the signal's reason if the signal has aborted. */
  constructor(storage: Storage, { signal, onProgress, version }: ApplyOptions = {}) {
    super(signal)
    this.storage = storage
    this.version = version
    this.#onProgress = onProgress
  }

  /** Reports that further rows are done, of `rowsTotal` in all. */
  report(rows: number, rowsTotal: number): void {
    this.#rowsDone += rows
    this.#onProgress?.({ rowsDone: this.#rowsDone, rowsTotal })
  }
}

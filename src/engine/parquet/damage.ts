import { CatalogError, invalid, unsupported } from '../../base/errors.ts'

/** The error for a Parquet file that is damaged. `fact` follows "The Parquet file". */
export function damagedFile(fact: string, options?: { cause?: unknown }): CatalogError {
  return invalid(`The Parquet file ${fact}. It is damaged: write it again.`, options)
}

/** The error for a Parquet file that uses what is not supported. `fact` follows "The Parquet file". */
export function unreadable(fact: string, instead: string): CatalogError {
  return unsupported(`The Parquet file ${fact}.`, instead)
}

/** Runs code of a library that fails in its own way on damaged bytes. `fact` says what could not be read. */
export function guarded<T>(fact: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause
    throw damagedFile(fact, { cause })
  }
}

/** Memory that reading one file may take. All of its columns share it. */
export class ReadBudget {
  readonly max: number
  #held = 0

  constructor(max: number) {
    this.max = max
  }

  /** Reserves bytes before they are allocated. Throws if the budget has not as many left. */
  take(bytes: number, column: string): void {
    if (this.#held + bytes > this.max) {
      throw unreadable(
        `needs more than ${this.max.toLocaleString('en')} bytes of memory at once, to read column ${JSON.stringify(column)}`,
        'Write it with smaller pages, or read it with a larger maxBytes.',
      )
    }
    this.#held += bytes
  }

  release(bytes: number): void {
    this.#held -= bytes
  }
}

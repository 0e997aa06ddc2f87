import { removeObjects } from '../../catalog/formats/index.ts'
import type { Invocable } from '../../catalog/index.ts'
import type { Caller } from './metadata-files.ts'

/** A metadata file, and the table or view that it was written for. */
interface WrittenFile {
  readonly id: readonly string[]
  readonly url: string
}

/**
 * The metadata files that the runs of one transaction wrote. Those of a run that was surely not committed are removed at
 * once: one that another run follows, and one whose own function failed. Of others a vacuum knows whether a version names
 * them.
 */
export class WrittenFiles {
  readonly #catalog: Invocable
  readonly #caller: Caller
  readonly #removals: Promise<void>[] = []
  #files: WrittenFile[] = []

  constructor(catalog: Invocable, caller: Caller) {
    this.#catalog = catalog
    this.#caller = caller
  }

  note(file: WrittenFile): void {
    this.#files.push(file)
  }

  /** Runs the transaction, and waits for the removals at its end. */
  async during<T>(transaction: () => Promise<T>): Promise<T> {
    try {
      return await transaction()
    } finally {
      await Promise.all(this.#removals)
    }
  }

  /** Runs its function once. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#lose()
    try {
      return await work()
    } catch (error) {
      this.#lose()
      throw error
    }
  }

  #lose(): void {
    const { options, context } = this.#caller
    const lost = this.#files
    this.#files = []
    for (const { id, url } of lost) {
      // A file that stays is removed by a vacuum.
      const asked = { id: [...id], urls: [url], context }
      this.#removals.push(removeObjects(this.#catalog, asked, withoutSignal(options)).catch(() => {}))
    }
  }
}

/** The caller may have gone, and the files stay. */
function withoutSignal({ signal: _, ...options }: Caller['options']): Caller['options'] {
  return options
}

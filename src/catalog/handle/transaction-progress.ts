import type { OperationOptions } from '../operations/framework/operation.ts'

/** Adds up the progress of the operations of a run. */
export class RunProgress {
  readonly #id: string
  readonly #report: NonNullable<OperationOptions['onProgress']>
  #rows = 0
  #total = 0

  constructor(id: string, report: NonNullable<OperationOptions['onProgress']>) {
    this.#id = id
    this.#report = report
  }

  /** The listener of one operation, whose caller may listen, too. */
  of(own: OperationOptions['onProgress']): NonNullable<OperationOptions['onProgress']> {
    let rows = 0
    let total = 0
    return (progress) => {
      this.#rows += progress.rows - rows
      this.#total += progress.total - total
      rows = progress.rows
      total = progress.total
      own?.(progress)
      this.#report({ transaction_id: this.#id, rows: this.#rows, total: this.#total })
    }
  }
}

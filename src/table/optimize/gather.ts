import type { Field } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import { compactDictionary } from '../../arrow/take/compact.ts'
import { assemble, type Piece, wholeOf } from '../../arrow/take/take.ts'
import type { Pace } from '../../scheduling/time-slice.ts'

/** Pieces that are kept before they are put together. */
const mostPieces = 256

/**
 * Gathers rows of many fragments. What it keeps is about as large as the rows themselves, however many or
 * large the fragments were that they come from.
 */
export class Gatherer {
  readonly #fields: readonly Field[]
  /** What was put together, for each column. */
  #batches: AnyBatch[][]
  #pieces: Piece[][]

  constructor(fields: readonly Field[]) {
    this.#fields = fields
    this.#batches = fields.map(() => [])
    this.#pieces = fields.map(() => [])
  }

  /** Adds rows of a fragment: the runs of them, or all. */
  add(columns: readonly AnyBatch[], runs: ArrayLike<number> | undefined): void {
    for (const [i, batch] of columns.entries()) {
      this.#pieces[i]!.push(runs ? { batch, runs } : wholeOf(batch))
      // A single run would be a view, which keeps all rows of the fragment; two pieces are copied.
      if (runs) this.#pieces[i]!.push({ batch, runs: [] })
    }
    if (runs || this.#pieces[0]!.length >= mostPieces) this.#flush()
  }

  /** The rows as one batch for each column; as several where one dictionary would not hold them all. */
  async finish(pace: Pace): Promise<AnyBatch[][]> {
    this.#flush()
    const pieces = this.#batches.map((batches) => batches.map(wholeOf))
    try {
      const batches: AnyBatch[] = []
      for (const [i, field] of this.#fields.entries()) {
        batches.push(compactDictionary(assemble(field.type, pieces[i]!)))
        if (pace.due) await pace.rest()
      }
      return [batches]
    } catch (error) {
      if (error instanceof RangeError) return assembleColumns(this.#fields, pieces)
      throw error
    }
  }

  #flush(): void {
    if (this.#pieces[0]!.length === 0) return
    for (const batches of assembleColumns(this.#fields, this.#pieces)) {
      for (const [i, batch] of batches.entries()) this.#batches[i]!.push(batch)
    }
    this.#pieces = this.#fields.map(() => [])
  }
}

import type { Field } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { castBatch } from '../../arrow/cast/cast.ts'
import { castSize } from '../../arrow/cast/cast-size.ts'
import { sliceBatch } from '../../arrow/take/take.ts'
import type { QueryOptions } from '../table-engine.ts'

/** About the most bytes of the plain batches for one batch that exceeds it. */
const maxBytes = 8 << 20

/** The columns of an answer, in types that its reader supports. */
export class PlainColumns {
  /** The fields in the reader's types. */
  readonly fields: readonly Field[]
  /** Whether the reader supports all columns unchanged. */
  readonly isSame: boolean
  readonly #casts: readonly boolean[]
  readonly #onBytes: (bytes: number) => void

  /** Calls `onBytes` before a conversion, with the bytes of its result. */
  constructor(fields: readonly Field[], plain: QueryOptions['plain'], onBytes: (bytes: number) => void) {
    this.#onBytes = onBytes
    this.fields = plain ? fields.map(plain) : fields
    this.#casts = this.fields.map(({ type }, i) => type !== fields[i]!.type)
    this.isSame = !this.#casts.includes(true)
  }

  /** A batch of each column in its plain type. Views that share very much are converted in parts. */
  *of(batches: readonly AnyBatch[]): Generator<readonly AnyBatch[]> {
    if (this.isSame) {
      yield batches
      return
    }
    const rows = batches[0]!.length
    let bytes = 0
    for (const [i, batch] of batches.entries())
      if (this.#casts[i]) bytes += castSize(batch, this.fields[i]!.type)
    this.#onBytes(bytes)
    const size = Math.max(1, Math.floor((rows * maxBytes) / Math.max(bytes, 1)))
    for (let at = 0; at < Math.max(rows, 1); at += size) {
      const end = Math.min(rows, at + size)
      yield batches.map((batch, i) => {
        const part = sliceBatch(batch, at, end)
        return this.#casts[i] ? castBatch(part, this.fields[i]!.type) : part
      })
    }
  }
}

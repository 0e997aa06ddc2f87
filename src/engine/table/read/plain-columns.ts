import type { Field } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { castBatch } from '../../arrow/cast/cast.ts'
import { castSize } from '../../arrow/cast/cast-size.ts'
import { sliceBatch } from '../../arrow/take/take.ts'
import type { QueryOptions } from '../table-engine.ts'

/** About the most bytes of the batches that one batch is made into, where these take more than it. */
const mostBytes = 8 << 20

/** The columns of an answer, under types that its reader knows. */
export class PlainColumns {
  /** The fields as the reader knows them. */
  readonly fields: readonly Field[]
  /** Whether the reader knows all of them as they are. */
  readonly isSame: boolean
  readonly #casts: readonly boolean[]
  readonly #onBytes: (bytes: number) => void

  /** Calls `onBytes` with the bytes of what is to be made, before it is made. */
  constructor(fields: readonly Field[], plain: QueryOptions['plain'], onBytes: (bytes: number) => void) {
    this.#onBytes = onBytes
    this.fields = plain ? fields.map(plain) : fields
    this.#casts = this.fields.map(({ type }, i) => type !== fields[i]!.type)
    this.isSame = !this.#casts.includes(true)
  }

  /** A batch of each column in its plain type, in parts where views share so much that all at once takes a lot. */
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
    const size = Math.max(1, Math.floor((rows * mostBytes) / Math.max(bytes, 1)))
    for (let at = 0; at < Math.max(rows, 1); at += size) {
      const end = Math.min(rows, at + size)
      yield batches.map((batch, i) => {
        const part = sliceBatch(batch, at, end)
        return this.#casts[i] ? castBatch(part, this.fields[i]!.type) : part
      })
    }
  }
}

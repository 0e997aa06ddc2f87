import { type Field, float32, type Schema } from '@uwdata/flechette'
import { type AnyBatch, makeBatch } from '../../arrow/batch.ts'
import { noMetadata } from '../columns/field-tree.ts'
import type { ColumnPick } from '../read/projection.ts'
import { withRowColumns } from '../scan/row-columns.ts'

/** The column of distances: in answers, in filters after a search, and in expressions. */
export const distanceColumn = '_distance'

/** The field of distances, with the given name. */
export function distanceField(name: string = distanceColumn): Field {
  return { name, type: float32(), nullable: true, metadata: noMetadata }
}

/** The schema for a text that uses distances. Row columns follow them. */
export function withDistance(schema: Schema): Schema {
  return { ...schema, fields: [...schema.fields, distanceField()] }
}

/** The columns that such a text reads: what to fetch from the table, and how to combine it. */
export class DistanceInputs {
  readonly picks: readonly ColumnPick[]
  readonly #read: readonly number[]
  readonly #distance: number

  /** `columns` are indices of the schema that the text is bound to. */
  constructor(schema: Schema, columns: readonly number[]) {
    const distance = schema.fields.length
    const all = withRowColumns(schema).fields
    this.#distance = distance
    this.#read = columns.filter((index) => index !== distance)
    this.picks = this.#read.map((index) => {
      const own = index > distance ? index - 1 : index
      return { path: [own], field: all[own]! }
    })
  }

  /** The columns at their indices, from batches of the picks and the distances of the same rows. */
  columns(batches: readonly AnyBatch[], distances: Float32Array): AnyBatch[] {
    const columns: AnyBatch[] = []
    for (const [i, index] of this.#read.entries()) columns[index] = batches[i]!
    columns[this.#distance] = makeBatch(float32(), { length: distances.length, values: distances })
    return columns
  }
}

import type { IndexType } from '../../../base/model/index-types.ts'

/** An index in the form of a manifest. */
export interface StoredIndex {
  readonly name: string
  readonly uuid: string
  /** The id of its field, which does not change when columns are renamed. */
  readonly field: number
  readonly type: IndexType
  /** Milliseconds since the epoch. */
  readonly created_at: number
  /** The options of the request, such as `distance_type` and `num_partitions`. */
  readonly parameters: IndexParameters
}

export type IndexParameters = Readonly<Record<string, string | number>>

import type { IndexType } from '../../../base/model/index-types.ts'

/** An index as a manifest has it. */
export interface StoredIndex {
  readonly name: string
  readonly uuid: string
  /** The id of the field it is on, which stays when columns are renamed. */
  readonly field: number
  readonly type: IndexType
  /** Milliseconds since the epoch. */
  readonly created_at: number
  /** What the request asked for, such as `distance_type` and `num_partitions`. */
  readonly parameters: IndexParameters
}

export type IndexParameters = Readonly<Record<string, string | number>>

/*
 * Types that requests and answers share, written by hand: their schemas are functions, or allow more than they say.
 */

export type {
  ArrowTable,
  JsonArrowField,
  JsonArrowSchema,
  JsonArrowType,
  RowsInput,
  RowsItem,
  RowsSource,
  SchemaInput,
} from '../../../engine/arrow/types.ts'

/** The columns to read, by name or under other names. */
export interface ColumnSelection {
  /** The columns to read, in this order; nested ones by their path, such as `item.price`. */
  readonly column_names?: readonly string[] | null | undefined
  /** The columns to read, as pairs of a name in the answer, and a name, path or expression. */
  readonly column_aliases?: Readonly<Record<string, string>> | null | undefined
}

/** A key to sort by; as text, `delay desc nulls first`. */
export type OrderKey =
  | string
  | {
      /** The column, or the path of a field of a struct. */
      readonly column_name: string
      /** Whether values ascend. Default: true. */
      readonly ascending?: boolean | null | undefined
      /** Whether nulls come first. Default: false. */
      readonly nulls_first?: boolean | null | undefined
    }

/** A vector to search for, or several. */
export type VectorInput =
  | readonly number[]
  | readonly (readonly number[])[]
  | {
      /** One vector. */
      readonly single_vector?: readonly number[] | null | undefined
      /** Several vectors. Each is searched for by itself. */
      readonly multi_vector?: readonly (readonly number[])[] | null | undefined
    }

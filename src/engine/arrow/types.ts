/*
 * The forms of rows and schemas that callers pass and receive. They refer to no Arrow library, so that users of this
 * package need the types of none.
 */

export type { ArrowTable, RowsItem, RowsSource } from '../../base/model/rows-source.ts'

import type { ArrowTable } from '../../base/model/rows-source.ts'

/**
 * Accepted as rows: Arrow IPC bytes (stream or file), an Arrow table, or row objects. Bytes and the buffers of tables
 * are not copied: do not change them before the call completes.
 */
export type RowsInput = Uint8Array | ArrayBuffer | ArrowTable | readonly Readonly<Record<string, unknown>>[]

/**
 * Accepted as columns: the schema of an Arrow library, its fields, the protocol's JSON form of one, or the bytes of an
 * Arrow IPC stream or file that has it.
 */
export type SchemaInput =
  | JsonArrowSchema
  | Uint8Array
  | { readonly fields: readonly { readonly name: string; readonly type: object }[] }

/** A schema in the protocol's JSON form, with Lance's names of types. */
export interface JsonArrowSchema {
  readonly fields: readonly JsonArrowField[]
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** A column, or a field of a struct, in the protocol's JSON form. */
export interface JsonArrowField {
  readonly name: string
  readonly type: JsonArrowType
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** A type in the protocol's JSON form, such as `{ type: 'int64' }`. */
export interface JsonArrowType {
  readonly type: string
  /** Fields of a struct, the item of a list, members of a union, index and values of a dictionary. */
  readonly fields?: readonly JsonArrowField[] | undefined
  /** Values in each list of fixed size, or bytes in each binary of fixed size. */
  readonly length?: number | undefined
}

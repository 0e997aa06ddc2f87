import type { JsonArrowField } from '../../engine/arrow/types.ts'

/** The member of the options by which a transport says what its client expects of tables and their columns. */
export const clientRules = Symbol('clientRules')

/**
 * The member of the options by which a transport says that its client reads the files of Lance's tables by itself, so
 * that Lance need not be asked for their columns.
 */
export const readsLance = Symbol('readsLance')

/** The member of the options by which a transport takes one blob as a value to read from, in place of Arrow. */
export const takeBlob = Symbol('takeBlob')

/** A blob that was found: its size in bytes, or null, and what reads the bytes from one position up to before another. */
export interface BlobOfVersion {
  readonly version: number
  readonly size: number | null
  read(from: number, to: number): AsyncIterable<Uint8Array>
}

/** Expectations of a client beyond the protocol. */
export interface ClientRules {
  /** A column under a type that the client knows, with the same values; the same object where it knows the type. */
  plain(field: JsonArrowField): JsonArrowField
  /**
   * The first column that the client cannot read under any type; undefined where it can read all of them. `isOfLance` says
   * whether the columns are those of a table of Lance.
   */
  unreadable(fields: readonly JsonArrowField[], isOfLance: boolean): UnreadableColumn | undefined
  /** Whether `createTable` with the mode ExistOk refuses a table that has other columns than the given ones. */
  readonly comparesColumns: boolean
}

/** A column that a client cannot read. */
export interface UnreadableColumn {
  /** The path of the column or of the field within it that is at fault. */
  readonly path: string
  /** What is wrong, as words to follow the path: `is a map, which LanceDB's clients cannot read`. */
  readonly fault: string
  /** What to use instead, as words to follow "Use". */
  readonly instead: string
}

import type { ScanPool } from '../scan/pool.ts'
import type { NewName, ObjectWriter, ReadStorage } from './objects.ts'

/** The storage that the engine reads from and writes to. */
export interface Storage extends ReadStorage {
  readonly writer: ObjectWriter
  /** Makes the name of a new object. */
  readonly newName: NewName
  /** The time, in milliseconds since the epoch. */
  readonly now: () => number
  /** Most bytes that one change may write beyond those that the table holds. Default: no limit. */
  readonly growthBytes?: number | undefined
  /** Most rows of a fragment: a multiple of 64. */
  readonly fragmentRows: number
  /** Most bytes of the fragments of each level that inserts merge. */
  readonly levels: readonly number[]
  /** Worker threads that scan large tables, if the engine has any. */
  readonly pool?: ScanPool | undefined
}

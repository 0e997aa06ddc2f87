import type { Dataset } from './bridge.ts'
import type { HeadOfBranch } from './kept-handles.ts'

/** Watches what is opened for one operation. */
export interface DatasetGuard {
  /**
   * The folders outside of the dataset in which the versions that Lance was told of have files. Undefined where a manifest
   * changed since, so that Lance may have read another one. Throws what refused one of these versions.
   */
  opened(): Promise<readonly string[] | undefined>
  /** Throws if the caller may not read the files in some folders. */
  allow(places: readonly string[]): Promise<void>
}

/** A branch of a dataset that is to be opened. */
export interface DatasetToOpen extends Dataset {
  /** What errors call it, such as `version 3 of docs`. */
  readonly shown: string
  /** `''` is the main branch. */
  readonly branch: string
  /** Undefined for a dataset that this operation makes. */
  readonly guard?: DatasetGuard
}

/** A version of a dataset that is to be read. */
export interface DatasetToRead extends DatasetToOpen {
  /** What identifies the content of the version: no other version, and no other dataset, has the same. */
  readonly key: string
  readonly version: number
}

/** A branch of a dataset whose rows are to be changed. */
export interface DatasetToChange extends DatasetToOpen {
  /** What identifies its latest version. Undefined where no handle is to be kept for the next change. */
  readonly head?: HeadOfBranch | undefined
  /** The same after the change. */
  readonly headAfter?: () => HeadOfBranch | undefined
}

/** Rows of a version that are read one after the other. */
export interface RowsToScan {
  readonly columns: readonly string[]
  readonly offset: number
  readonly limit: number
}

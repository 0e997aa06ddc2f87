/** What a verification asks about tables of a format that the catalog does not read itself. */
export interface TableFormat {
  /** Whether a table with these properties is of the format. */
  isOf(properties: Readonly<Record<string, string>>): boolean
  /** What is wrong with the file that a version points at, as the end of a sentence; undefined when nothing is. */
  faultIn(
    bytes: Uint8Array,
    version: PointedVersion,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined>
}

/** A version, and the file that it points at. */
export interface PointedVersion {
  readonly url: string
  /**
   * Where the table lies; undefined where the file may name another place: in a copy of the catalog, and for earlier
   * versions of a table that moved.
   */
  readonly location: string | undefined
  /** What the record of the version says. */
  readonly metadata: Readonly<Record<string, string>>
}

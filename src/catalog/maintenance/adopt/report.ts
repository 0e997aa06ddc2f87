/** What an adoption did. */
export interface AdoptReport {
  /** The URL of the new content of the catalog. */
  readonly content: string
  readonly tables: number
  /** The objects that the catalog needs there, or among its records if they are small. */
  readonly objects: number
  /** How many of them were copied, and their bytes; the others were there. */
  readonly copied: number
  readonly bytes: number
  /** Tables whose rows lie outside of the content. They keep their locations, which the original has, too. */
  readonly elsewhere: number
}

/** The parts of a report that change. */
export type AdoptCounts = { -readonly [Name in keyof AdoptReport]: AdoptReport[Name] }

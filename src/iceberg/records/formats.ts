import type { Steps } from '../../base/scheduling/time-slice.ts'
import { formatProperty } from '../../catalog/formats/index.ts'

export { formatProperty }

/** What `formatProperty` is for each kind of record that Iceberg REST serves. */
export const formats = { table: 'ICEBERG', view: 'ICEBERG_VIEW' } as const

export type Kind = keyof typeof formats

/** The kind of a record; undefined for tables of other formats. Catalogs in the field write it in any case. */
export function kindOf(properties: Readonly<Record<string, string>>): Kind | undefined {
  const format = properties[formatProperty]?.toUpperCase()
  if (format === formats.table) return 'table'
  return format === formats.view ? 'view' : undefined
}

/** What a table and a view differ in, as far as records of the catalog follow from it. */
export interface Format<Metadata> {
  readonly kind: Kind
  /** Checks what a metadata file holds, in steps. */
  check(json: unknown): Steps<Metadata>
  locationOf(metadata: Metadata): string
  /** The URL of the folder for its next metadata file. */
  folderOf(metadata: Metadata): string
  /** What the record of a version says, so that listings need not read files. */
  summaryOf(metadata: Metadata): Readonly<Record<string, string>>
}

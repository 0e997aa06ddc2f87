import type { Long, Schema } from './types.ts'

/*
 * View metadata as its files store it: plain objects, whose members have the names of the specification. Members that
 * no type names are kept as they are.
 */

/** One way to express the view. Those of type `sql` have a text and its dialect. */
export interface ViewRepresentation {
  readonly type: string
  readonly sql?: string
  readonly dialect?: string
  readonly [member: string]: unknown
}

export interface ViewVersion {
  readonly 'version-id': number
  readonly 'schema-id': number
  readonly 'timestamp-ms': Long
  readonly summary: Readonly<Record<string, string>>
  readonly representations: readonly ViewRepresentation[]
  readonly 'default-catalog'?: string
  readonly 'default-namespace': readonly string[]
  readonly [member: string]: unknown
}

export interface ViewHistoryEntry {
  readonly 'timestamp-ms': Long
  readonly 'version-id': number
  readonly [member: string]: unknown
}

export interface ViewMetadata {
  readonly 'view-uuid': string
  readonly 'format-version': number
  readonly location: string
  readonly schemas: readonly Schema[]
  readonly 'current-version-id': number
  readonly versions: readonly ViewVersion[]
  readonly 'version-log': readonly ViewHistoryEntry[]
  readonly properties?: Readonly<Record<string, string>>
  readonly [member: string]: unknown
}

/** The only version of the format of views. */
export const viewFormatVersion = 1

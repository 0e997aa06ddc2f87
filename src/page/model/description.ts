import type { NamedTable } from '../checked-changes.ts'
import type { VersionSelection } from './route.ts'
import type { SchemaField } from './schema.ts'

/** The response of `describeTable`, and its branch. */
export interface Description {
  readonly branch?: string | undefined
  readonly version?: number
  readonly location: string
  readonly schema?: { readonly fields: readonly SchemaField[] }
  readonly metadata?: Readonly<Record<string, string>>
  readonly properties?: Readonly<Record<string, string>>
  readonly stats?: { readonly num_deleted_rows: number; readonly num_fragments: number }
  readonly is_only_declared?: boolean
}

export interface Tag {
  readonly name: string
  readonly version: number
  readonly branch?: string
}

/** An open dialog, with the table and the tag as they were when it opened. */
export interface Opened {
  readonly act: 'rename' | 'drop' | 'create tag' | 'move tag' | 'delete tag'
  readonly table: NamedTable
  readonly tag?: Tag
}

/** The part of a selection that a request names. */
export function selectionOf({ version, tag, branch, at }: VersionSelection): VersionSelection {
  return {
    ...(version === undefined ? {} : { version }),
    ...(tag ? { tag } : {}),
    ...(branch ? { branch } : {}),
    ...(at ? { at } : {}),
  }
}

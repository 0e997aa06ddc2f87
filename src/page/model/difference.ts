import { type SchemaField, typeText } from './schema.ts'
import { signed } from './text.ts'

/** The properties of one version of a table. Those that the catalog does not know of other engines' tables are absent. */
export interface VersionFacts {
  readonly version: number
  readonly rows?: number | undefined
  readonly deletedRows?: number | undefined
  readonly fields?: readonly SchemaField[] | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export interface Difference {
  /** The change of the row count. The same number of further rows may have been both added and deleted. */
  readonly rows?: number | undefined
  /** The change of the number of deleted rows that are still stored. */
  readonly deletedRows?: number | undefined
  readonly columnsAdded: readonly string[]
  readonly columnsRemoved: readonly string[]
  readonly columnsChanged: readonly string[]
  readonly metadataChanged: readonly string[]
}

/** The difference between an earlier version and a later one. */
export function differenceOf(before: VersionFacts, after: VersionFacts): Difference {
  return {
    rows: less(after.rows, before.rows),
    deletedRows: less(after.deletedRows, before.deletedRows),
    ...columnsDifference(before.fields ?? [], after.fields ?? []),
    metadataChanged: changedKeys(before.metadata ?? {}, after.metadata ?? {}),
  }
}

function less(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one - other
}

function columnsDifference(before: readonly SchemaField[], after: readonly SchemaField[]) {
  const types = (fields: readonly SchemaField[]) =>
    new Map(
      fields.map(({ name, type, nullable }) => [name, `${typeText(type)}${nullable ? '' : ' not null'}`]),
    )
  const [old, now] = [types(before), types(after)]
  return {
    columnsAdded: [...now.keys()].filter((name) => !old.has(name)),
    columnsRemoved: [...old.keys()].filter((name) => !now.has(name)),
    columnsChanged: [...now]
      .filter(([name, type]) => old.has(name) && old.get(name) !== type)
      .map(([name]) => name),
  }
}

function changedKeys(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].filter((key) => before[key] !== after[key]).sort()
}

/** A short text about what a version changed. */
export function changeText(difference: Difference): string {
  const { rows, columnsAdded, columnsRemoved, columnsChanged, metadataChanged } = difference
  const words: string[] = []
  if (rows) words.push(`${signed(rows)} ${Math.abs(rows) === 1 ? 'row' : 'rows'}`)
  if (columnsAdded.length + columnsRemoved.length + columnsChanged.length > 0) words.push('columns changed')
  if (metadataChanged.length > 0) words.push('metadata changed')
  return words.length > 0 ? words.join(', ') : rows === undefined ? 'not known' : 'as many rows'
}

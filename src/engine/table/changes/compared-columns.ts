import { type Field, type Schema, Type, utf8 } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { canCast } from '../../arrow/cast/cast.ts'
import { indexOfName } from '../../arrow/field-names.ts'
import { typeName } from '../../arrow/type-name.ts'
import { namesOf, noColumn } from '../read/projection.ts'
import type { ChangesOptions } from '../table-engine.ts'

/** The column that says how a row changed, as in Delta Lake and Iceberg. */
export const changeType: Field = {
  name: '_change_type',
  type: utf8(),
  nullable: false,
  metadata: new Map(),
}

/** A column of the later version, and the column of the earlier one with the same name. */
export interface ComparedColumn {
  /** In the answer. */
  readonly field: Field
  readonly to: number
  /** Undefined if the earlier version lacks it: its rows have null there. */
  readonly from: number | undefined
}

/** The columns by which the rows of two versions are compared. */
export interface ComparedColumns {
  readonly all: readonly ComparedColumn[]
  /** The positions of the key among `all`. */
  readonly keys: readonly number[]
}

/** Matches the columns of two versions by name. Those that `from` lacks are null there. */
export function comparedColumns(
  from: Schema,
  to: Schema,
  { columns: names, on }: Pick<ChangesOptions, 'columns' | 'on'>,
): ComparedColumns {
  const wanted = names ?? to.fields.map(({ name }) => name)
  if (wanted.length === 0)
    throw invalid('The list of columns is empty. Name at least one, or leave it out for all.')
  const all = unique('columns', wanted).map((name) => compared(from, to, name))
  if (all.some(({ field }) => field.name === changeType.name)) {
    throw invalid(
      `The table has a column ${changeType.name}, which says in the answer how a row changed. Name the other columns in columns, or rename it.`,
    )
  }
  const keys = unique('on', on ?? []).map((name) => {
    const key = all.findIndex(({ field }) => field.name === name)
    if (key < 0) {
      indexOf(to, name)
      throw invalid(`on names the column ${quote(name)}, which columns leaves out. Name it there, too.`)
    }
    if (all[key]!.from === undefined) {
      throw invalid(
        `on names the column ${quote(name)}, which the version to compare with does not have. Its columns are ${namesOf(from)}.`,
      )
    }
    return key
  })
  return { all, keys }
}

function unique(what: string, names: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  const twice = names.find((name) => seen.has(name) || !seen.add(name))
  if (twice !== undefined)
    throw invalid(`${what} names the column ${quote(twice)} twice. Name each one once.`)
  return names
}

function compared(from: Schema, to: Schema, name: string): ComparedColumn {
  const index = indexOf(to, name)
  const field = to.fields[index]!
  const before = indexOfName(from.fields, name)
  const earlier = from.fields[before]
  // A column of the type null may have taken a type since.
  if (earlier === undefined || (earlier.type.typeId === Type.Null && field.type.typeId !== Type.Null))
    return { field: { ...field, nullable: true }, to: index, from: undefined }
  if (!canCast(earlier.type, field.type)) {
    throw new CatalogError(
      'TableSchemaValidationError',
      `The column ${quote(name)} is ${typeName(earlier.type)} in the one version and ${typeName(field.type)} in the other, so their values cannot be compared. Name the other columns in columns.`,
    )
  }
  return { field: { ...field, nullable: field.nullable || earlier.nullable }, to: index, from: before }
}

function indexOf(schema: Schema, name: string): number {
  const index = indexOfName(schema.fields, name)
  if (index >= 0) return index
  throw noColumn(schema, name)
}

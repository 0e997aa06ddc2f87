import { type Field, type Schema, Type } from '@uwdata/flechette'
import { nearest } from '../../../base/model/nearest.ts'
import { indexInAsciiCase, indexOfName } from '../../arrow/field-names.ts'
import { isRowColumn } from '../../arrow/schema.ts'
import { predicateError } from '../errors.ts'
import type { NamePart } from '../syntax/syntax.ts'
import type { ColumnPlan } from './plan.ts'
import { logicalType, typeName } from './types.ts'

/** Most names that an error lists. */
const shownNames = 12

/**
 * Finds the column of a path of names. The first name is a column's, in any (ASCII) case, unless it is quoted and the
 * only one, or `exact` is set. The rest are struct fields, which must match exactly.
 */
export function resolveName(
  text: string,
  schema: Schema,
  parts: readonly NamePart[],
  at: number,
  exact: boolean,
): ColumnPlan {
  const [first] = parts
  const anyCase = !exact && !(parts.length === 1 && first!.quoted)
  const index = findColumn(schema.fields, first!.text, anyCase)
  if (index < 0 && isRowColumn(first!.text)) {
    const remedy = 'Name rows by `_rowid`, or by a column of the table.'
    throw predicateError(text, at, `${first!.text} is not supported by this catalog, and is used`, remedy)
  }
  if (index < 0) {
    // A path is no text without quotes.
    const remedy = parts.length === 1 ? "A text is written in single quotes, as 'SFO'. " : ''
    throw unknownName(text, at, 'column', first!.text, schema.fields, remedy)
  }
  let plan: ColumnPlan = { kind: 'column', type: logicalType(schema.fields[index]!.type), path: [index] }
  for (const part of parts.slice(1)) plan = resolveField(text, plan, part.text, at)
  return plan
}

/** The field of a struct column. */
export function resolveField(text: string, plan: ColumnPlan, name: string, at: number): ColumnPlan {
  const { type } = plan
  if (type.typeId !== Type.Struct) {
    const problem = `the field ${JSON.stringify(name)} of a value of type ${typeName(type)}`
    throw predicateError(text, at, problem, 'Only structs have fields; quote a name with dots as one: `a.b`.')
  }
  const index = findColumn(type.children, name, false)
  if (index < 0) throw unknownName(text, at, 'field', name, type.children)
  return { kind: 'column', type: logicalType(type.children[index]!.type), path: [...plan.path, index] }
}

function findColumn(fields: readonly Field[], name: string, anyCase: boolean): number {
  const index = indexOfName(fields, name)
  return index >= 0 || !anyCase ? index : indexInAsciiCase(fields, name)
}

function unknownName(
  text: string,
  at: number,
  what: string,
  name: string,
  fields: readonly Field[],
  remedy = '',
): Error {
  const names = fields.map((field) => field.name)
  const near = nearest(name, names)
  const shown = names.slice(0, shownNames).map(quote).join(', ')
  const more = names.length > shownNames ? ` and ${names.length - shownNames} more` : ''
  const hint = near === undefined ? remedy : `Did you mean ${quote(near)}? `
  const all = names.length === 0 ? 'There are none.' : `There are ${shown}${more}.`
  return predicateError(text, at, `no ${what} named ${quote(name)}, which is used`, `${hint}${all}`)
}

function quote(name: string): string {
  return `\`${(name.length > 64 ? `${name.slice(0, 64)}…` : name).replaceAll('`', '``')}\``
}

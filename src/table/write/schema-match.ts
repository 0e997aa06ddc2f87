import type { Field, Schema, Table } from '@uwdata/flechette'
import { type AnyBatch, type AnyColumn, makeColumn } from '../../arrow/batch.ts'
import { fitting, misfit, missing, nullColumn, surplus } from '../../arrow/fit.ts'
import { childFields } from '../../arrow/layout.ts'

/**
 * The table's columns in the order of the schema. Columns and fields of structs that are missing and may be null are
 * filled with nulls. Throws when the columns do not fit the schema.
 */
export function matchSchema(table: Table, schema: Schema): AnyColumn[] {
  return matchFields(table, schema, true).map((column, i) => {
    const wanted = schema.fields[i]!
    if (column === undefined && !wanted.nullable) throw missing(wanted.name)
    return column ?? nullColumn(wanted, table.numRows)
  })
}

/** The same for rows that need not have all columns of the schema; undefined stands for those that are missing. */
export function matchSome(table: Table, schema: Schema): (AnyColumn | undefined)[] {
  return matchFields(table, schema, false)
}

function matchFields(table: Table, schema: Schema, fills: boolean): (AnyColumn | undefined)[] {
  const { fields } = table.schema
  const wantedNames = new Set(schema.fields.map(({ name }) => name))
  const places = new Map(fields.map(({ name }, i) => [name, i]))
  for (const { name } of fields) if (!wantedNames.has(name)) throw surplus(name)
  return schema.fields.map((wanted) => {
    const index = places.get(wanted.name)
    if (index === undefined) return undefined
    const fit = fitting(wanted, fields[index]!, wanted.name, fills)
    const given = table.children[index] as AnyColumn
    const column = fit ? makeColumn(wanted.type, (given.data as readonly AnyBatch[]).map(fit)) : given
    checkNulls(wanted, column.data as readonly AnyBatch[], wanted.name)
    return column
  })
}

/** The columns of a new table, checked against its own schema. */
export function columnsOfNewTable(table: Table): AnyColumn[] {
  return matchSchema(table, table.schema)
}

/** Refuses nulls in a field that must not be null. Within a struct or list that is null itself they are allowed. */
function checkNulls(field: Field, batches: readonly AnyBatch[], path: string): void {
  if (!field.nullable && batches.some(({ nullCount }) => nullCount > 0)) {
    throw misfit(
      `The field \`${path}\` contained null values even though the field is marked non-null in the schema. Fill them, or leave those rows out.`,
    )
  }
  for (const [i, child] of childFields(field.type).entries()) {
    // A child is null wherever its parent is. To tell those nulls from others would take a look at every row.
    const visible = batches.filter(({ nullCount }) => nullCount === 0).map(({ children }) => children[i]!)
    if (visible.length > 0) checkNulls(child, visible, `${path}.${child.name}`)
  }
}

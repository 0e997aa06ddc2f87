import type { Field, Schema, Table } from '@uwdata/flechette'
import type { AnyBatch, AnyColumn } from '../../arrow/batch.ts'
import { childFields } from '../../arrow/layout.ts'
import { fieldDifference } from '../../arrow/schema.ts'
import { CatalogError } from '../../errors.ts'

function refuse(sentence: string): CatalogError {
  return new CatalogError('TableSchemaValidationError', sentence)
}

/** The table's columns in the order of the schema. Throws when they do not fit it. */
export function matchSchema(table: Table, schema: Schema): AnyColumn[] {
  const { fields } = table.schema
  const wantedNames = new Set(schema.fields.map(({ name }) => name))
  const places = new Map(fields.map(({ name }, i) => [name, i]))
  for (const { name } of fields) {
    if (!wantedNames.has(name)) {
      throw refuse(
        `Column ${JSON.stringify(name)} is not in the table. Leave it out, or add it to the table first.`,
      )
    }
  }
  return schema.fields.map((wanted) => {
    const index = places.get(wanted.name) ?? -1
    const given = fields[index]
    const column = table.children[index] as AnyColumn | undefined
    if (given === undefined || column === undefined) {
      throw refuse(`Column ${JSON.stringify(wanted.name)} is missing. Send every column of the table.`)
    }
    const difference = fieldDifference(wanted, given, true)
    if (difference) {
      throw refuse(`Column ${JSON.stringify(wanted.name)} ${difference}. Convert it to the table's type.`)
    }
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
    throw refuse(
      `Column ${JSON.stringify(path)} must not be null and holds nulls. Fill them, or leave those rows out.`,
    )
  }
  for (const [i, child] of childFields(field.type).entries()) {
    // A child is null wherever its parent is. To tell those nulls from others would take a look at every row.
    const visible = batches.filter(({ nullCount }) => nullCount === 0).map(({ children }) => children[i]!)
    if (visible.length > 0) checkNulls(child, visible, `${path}.${child.name}`)
  }
}

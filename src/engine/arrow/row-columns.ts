/** Columns that Lance makes up for each row. */
const rowColumns = new Set([
  '_rowid',
  '_rowaddr',
  '_rowoffset',
  '_row_created_at_version',
  '_row_last_updated_at_version',
])

/** Whether a name is that of a column that Lance makes up and this catalog does not have, in any case. */
export function isRowColumn(name: string): boolean {
  return rowColumns.has(name.toLowerCase())
}

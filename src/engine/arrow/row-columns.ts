/** Columns that Lance computes for each row. */
const rowColumns = new Set([
  '_rowid',
  '_rowaddr',
  '_rowoffset',
  '_row_created_at_version',
  '_row_last_updated_at_version',
])

/** Whether a name, in any case, is a computed column of Lance that this catalog does not have. */
export function isRowColumn(name: string): boolean {
  return rowColumns.has(name.toLowerCase())
}

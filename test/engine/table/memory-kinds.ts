/** What is done to a table, and asked of it, while its memory is measured. Parent and child agree on it here. */
export const kinds = [
  'an update',
  'an update to long texts',
  'a merge',
  'a column of long texts',
  'an order',
  'a take',
  'a search',
  'an index',
] as const

/** Updates of tables, all at once, that give so many columns a text of this length in each row. */
export interface LongValues {
  readonly updates: number
  readonly columns: number
  readonly rows: number
  readonly length: number
}

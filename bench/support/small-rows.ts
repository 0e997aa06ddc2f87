/** An insert has so many rows. */
const perInsert = 5

/** So many rows of three columns, as applications insert them. */
export function smallRows(from: number, rows = perInsert): { id: number; name: string; x: number }[] {
  return Array.from({ length: rows }, (_, i) => {
    const place = i % perInsert
    return { id: from + i, name: `n${place}`, x: 1.5 * place }
  })
}

/** The rows of an insert as a statement of SQL. */
export function smallRowsSql(table: string, from: number): string {
  const values = smallRows(from).map(({ id, name, x }) => `(${id},'${name}',${x})`)
  return `INSERT INTO ${table} VALUES ${values.join()}`
}

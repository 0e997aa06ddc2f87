/** Writes a name into the guest book of a catalog, and returns all names. It runs wherever the client does. */
export async function sign(catalog, name) {
  const id = ['guests']
  const schema = { fields: [{ name: 'name', nullable: false, type: { type: 'string' } }] }
  await catalog.createTable({ id, data: [], schema, mode: 'ExistOk' })
  await catalog.insertIntoTable({ id, data: [{ name }] })
  const names = []
  for await (const row of catalog.rows({ id })) names.push(row.name)
  return names
}

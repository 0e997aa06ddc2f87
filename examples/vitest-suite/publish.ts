import { type Catalog, CatalogError } from 'tabularium'

/** Moves a checked table to where its readers look, and keeps the one before it in the archive. */
export async function publish(catalog: Catalog, name: string): Promise<void> {
  try {
    await again(() =>
      catalog.renameTable({ id: ['prod', name], new_table_name: name, new_namespace_id: ['archive'] }),
    )
  } catch (error) {
    if (!isCode(error, 'TableNotFound')) throw error
  }
  await again(() =>
    catalog.renameTable({ id: ['staging', name], new_table_name: name, new_namespace_id: ['prod'] }),
  )
}

/** Drops tables of the archive whose latest version is older than some milliseconds. Returns their names. */
export async function cleanUp(catalog: Catalog, age: number, now = Date.now()): Promise<string[]> {
  const dropped: string[] = []
  for await (const id of catalog.tables({ id: ['archive'] })) {
    for await (const { timestamp_millis } of catalog.versions({ id, descending: true, limit: 1 })) {
      if (now - timestamp_millis! <= age) continue
      await again(() => catalog.dropTable({ id }))
      dropped.push(id.at(-1)!)
    }
  }
  return dropped
}

/** Tries again when the catalog is busy. */
async function again<T>(work: () => Promise<T>, attempts = 3): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isCode(error, 'ServiceUnavailable') || attempt === attempts) throw error
    }
  }
}

function isCode(error: unknown, code: CatalogError['code']): boolean {
  return error instanceof CatalogError && error.code === code
}

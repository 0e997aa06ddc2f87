import type { Catalog } from '../../src/tabularium/index.ts'

/** Everything that a catalog reports about its namespaces and tables, for comparisons before and after. */
export async function inspect(catalog: Catalog) {
  const namespaces: Record<string, unknown> = {}
  const open: string[][] = [[]]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const children = await all((page_token) => catalog.listNamespaces({ id, page_token }), 'namespaces')
    for (const name of children) {
      namespaces[JSON.stringify([...id, name])] = await catalog.describeNamespace({ id: [...id, name] })
      open.push([...id, name])
    }
  }
  const tables: Record<string, unknown> = {}
  for (const name of await tablesOf(catalog)) {
    tables[name] = await inspectTable(catalog, name.split('$'))
  }
  return { namespaces, tables }
}

/** Every table of a catalog in string form. */
export function tablesOf(catalog: Catalog): Promise<string[]> {
  return all((page_token) => catalog.listAllTables({ page_token }), 'tables')
}

async function inspectTable(catalog: Catalog, id: string[]) {
  const { branches } = await unlessDamaged(catalog.listTableBranches({ id }), { branches: {} })
  const versions: Record<string, unknown> = {}
  for (const branch of ['main', ...Object.keys(branches)]) {
    versions[branch] = await all(
      (page_token) => catalog.listTableVersions({ id, branch, page_token }),
      'versions',
    )
  }
  return {
    description: await catalog.describeTable({ id, check_declared: true }),
    tags: (await unlessDamaged(catalog.listTableTags({ id }), { tags: {} })).tags,
    branches,
    versions,
  }
}

/** Tags and branches of a Lance table are in its files, which a test may have damaged. */
function unlessDamaged<T>(answer: Promise<T>, none: NoInfer<T>): Promise<T> {
  return answer.catch((error: { code?: string }) => {
    if (error.code !== 'InvalidTableState') throw error
    return none
  })
}

async function all<Name extends string, Item>(
  page: (
    token: string | undefined,
  ) => Promise<Record<Name, Item[]> & { page_token?: string | null | undefined }>,
  name: Name,
): Promise<Item[]> {
  const items: Item[] = []
  let token: string | undefined
  do {
    const answer = await page(token)
    items.push(...answer[name])
    token = answer.page_token ?? undefined
  } while (token)
  return items
}

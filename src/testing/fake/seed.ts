import { CatalogError, invalid } from '../../base/errors.ts'
import type { Catalog } from '../../catalog/handle/handle.ts'
import { type Node, pathOf, readSeed, type SeedNode } from './seed-tree.ts'

/**
 * The initial content of a catalog, by name. A list of rows (or Arrow data) is a table, an object is a namespace. Names
 * never contain a `$`, so keys that begin with one are options of the object that holds them.
 *
 * ```ts
 * const seed = {
 *   prod: {
 *     $properties: { owner: 'ops' },
 *     flights: [{ origin: 'SFO', delay: 75 }],
 *     inbox: [],                                   // declared: no rows or columns yet
 *     orders: { $rows: [{ id: 1 }], $changes: [{ insert: [{ id: 2 }] }], $tags: { audited: 1 } },
 *     eu: {},                                      // an empty namespace
 *   },
 * }
 * ```
 */
export interface Seed {
  readonly $properties?: Readonly<Record<string, string>> | undefined
  readonly [name: string]: SeedNode | undefined
}

/** Creates the namespaces and tables of a seed, in order. */
export async function applySeed(catalog: Catalog, seed: Seed): Promise<void> {
  for (const node of readSeed(seed)) await createNode(catalog, node)
}

async function createNode(catalog: Catalog, node: Node): Promise<void> {
  const at = async <T>(field: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      const where = pathOf(node.id) + field
      if (error instanceof CatalogError)
        throw new CatalogError(error.code, `${where}: ${error.message}`, { cause: error })
      throw invalid(`${where} cannot be made. See the cause.`, { cause: error })
    }
  }
  const { id } = node
  if (node.kind === 'namespace') {
    const { properties } = node
    await at('', () =>
      catalog.createNamespace({ id, mode: 'ExistOk', ...(properties ? { properties } : {}) }),
    )
    return
  }
  const { rows, schema, properties, location, changes, versions, tags, branches } = node
  const more = properties ? { properties } : {}
  if (rows === undefined) {
    await at('', () => catalog.declareTable({ id, ...more, ...(location === undefined ? {} : { location }) }))
  } else {
    await at('', () => catalog.createTable({ id, data: rows, ...more, ...(schema ? { schema } : {}) }))
  }
  for (const [i, change] of changes.entries()) {
    await at(`.$changes[${i}]`, async () => {
      if ('insert' in change) await catalog.insertIntoTable({ id, data: change.insert })
      else if ('delete' in change) await catalog.deleteFromTable({ id, predicate: change.delete })
      else await catalog.updateTableSchemaMetadata({ id, metadata: change.metadata })
    })
  }
  for (const [i, version] of versions.entries()) {
    await at(`.$versions[${i}]`, () => catalog.createTableVersion({ version: i + 1, ...version, id }))
  }
  for (const [tag, version] of tags) {
    await at(`.$tags.${tag}`, () => catalog.createTableTag({ id, tag, version }))
  }
  for (const [name, from_version] of branches) {
    await at(`.$branches.${name}`, () => catalog.createTableBranch({ id, name, from_version }))
  }
}

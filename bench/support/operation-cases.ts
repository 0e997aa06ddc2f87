import type { Catalog, OperationName } from '../../dist/tabularium/index.js'
import { scattered, tableName } from './seed.ts'

/** One operation as it is measured: what must be there before, and the call itself. */
export interface OperationCase {
  /** Whether it writes rows and syncs their files; such calls are repeated less often. */
  readonly rows?: boolean
  readonly reads?: boolean
  /** Whether it answers with a hundred items, and so takes about ten times as long. */
  readonly page?: boolean
  /** Makes what calls `from` to `from + times` need; not timed. */
  prepare?(catalog: Catalog, from: number, times: number): Promise<unknown>
  call(catalog: Catalog, i: number): Promise<unknown>
}

/** So many tables have rows, versions, tags and branches. */
const kept = 64
const rowTable = (i: number) => ['rows', `r${i % kept}`]
const manifest = (i: number) => ({ version: 1, manifest_path: `v${i}.manifest` })

/** Makes what all cases share, in a catalog with `ns` in it. */
export async function prepareCases(catalog: Catalog): Promise<void> {
  await catalog.createNamespace({ id: ['rows'] })
  await catalog.createNamespace({ id: ['spare'] })
  const data = Array.from({ length: 1_000 }, (_, a) => ({ a, name: `user_${a}` }))
  for (let i = 0; i < kept; i++) {
    await catalog.createTable({ id: rowTable(i), data })
    await catalog.createTableTag({ id: rowTable(i), tag: 'first', version: 1 })
  }
}

/** Declares the tables `spare$NAME…` that calls are about to change. */
const declared =
  (name: string): OperationCase['prepare'] =>
  (catalog, from, times) =>
    inBatches(catalog, from, times, (i) => ({ declare_table: { id: ['spare', `${name}${i}`] } }))

const versioned =
  (name: string): OperationCase['prepare'] =>
  (catalog, from, times) =>
    inBatches(
      catalog,
      from,
      times,
      (i) => ({ declare_table: { id: ['spare', `${name}${i}`] } }),
      (i) => ({ create_table_version: { id: ['spare', `${name}${i}`], ...manifest(i) } }),
    )

async function inBatches(
  catalog: Catalog,
  from: number,
  times: number,
  ...makes: ((i: number) => object)[]
): Promise<void> {
  const operations = Array.from({ length: times }, (_, i) => makes.map((make) => make(from + i))).flat()
  for (let at = 0; at < operations.length; at += 10_000) {
    await catalog.batchCommitTables({ operations: operations.slice(at, at + 10_000) })
  }
}

const each =
  (make: (catalog: Catalog, i: number) => Promise<unknown>): OperationCase['prepare'] =>
  (catalog, from, times) =>
    Promise.all(Array.from({ length: times }, (_, i) => make(catalog, from + i)))

/** Every operation of a catalog with so many tables. */
export function operationCases(size: number): Partial<Record<OperationName, OperationCase>> {
  const any = (i: number) => ['ns', tableName(scattered(i, size))]
  const spare = (name: string) => (i: number) => ['spare', `${name}${i}`]
  const locations = new Map<number, string>()
  let change = ''
  // A new one each time: what is measured makes so many changes that the records of early ones are cleared.
  const changed: OperationCase['prepare'] = async (catalog, from) => {
    const { transaction_id } = await catalog.declareTable({ id: spare('s')(from) })
    change = transaction_id!
  }
  return {
    describeTable: { reads: true, call: (catalog, i) => catalog.describeTable({ id: any(i) }) },
    tableExists: { reads: true, call: (catalog, i) => catalog.tableExists({ id: any(i) }) },
    listTables: {
      reads: true,
      page: true,
      call: (catalog) => catalog.listTables({ id: ['ns'], limit: 100 }),
    },
    listAllTables: { reads: true, page: true, call: (catalog) => catalog.listAllTables({ limit: 100 }) },
    describeNamespace: { reads: true, call: (catalog) => catalog.describeNamespace({ id: ['ns'] }) },
    namespaceExists: { reads: true, call: (catalog) => catalog.namespaceExists({ id: ['ns'] }) },
    listNamespaces: { reads: true, call: (catalog) => catalog.listNamespaces({ id: [] }) },
    listTableVersions: { reads: true, call: (catalog, i) => catalog.listTableVersions({ id: rowTable(i) }) },
    describeTableVersion: {
      reads: true,
      call: (catalog, i) => catalog.describeTableVersion({ id: rowTable(i), version: 1 }),
    },
    getTableTagVersion: {
      reads: true,
      call: (catalog, i) => catalog.getTableTagVersion({ id: rowTable(i), tag: 'first' }),
    },
    listTableTags: { reads: true, call: (catalog, i) => catalog.listTableTags({ id: rowTable(i) }) },
    listTableBranches: { reads: true, call: (catalog, i) => catalog.listTableBranches({ id: rowTable(i) }) },
    describeTransaction: {
      reads: true,
      prepare: changed,
      call: (catalog) => catalog.describeTransaction({ id: [change] }),
    },
    countTableRows: {
      reads: true,
      rows: true,
      call: (catalog, i) => catalog.countTableRows({ id: rowTable(i), version: 1, predicate: 'a > 500' }),
    },
    queryTable: {
      reads: true,
      rows: true,
      call: (catalog, i) => catalog.queryTable({ id: rowTable(i), version: 1, filter: 'a < 10' }),
    },
    createNamespace: { call: (catalog, i) => catalog.createNamespace({ id: ['spare', `n${i}`] }) },
    dropNamespace: {
      prepare: each((catalog, i) => catalog.createNamespace({ id: ['spare', `d${i}`] })),
      call: (catalog, i) => catalog.dropNamespace({ id: ['spare', `d${i}`] }),
    },
    // Where the others are: in the namespace of all tables.
    declareTable: { call: (catalog, i) => catalog.declareTable({ id: ['ns', `u${i}`] }) },
    renameTable: {
      prepare: declared('a'),
      call: (catalog, i) => catalog.renameTable({ id: spare('a')(i), new_table_name: `b${i}` }),
    },
    deregisterTable: {
      prepare: declared('g'),
      call: (catalog, i) => catalog.deregisterTable({ id: spare('g')(i) }),
    },
    registerTable: {
      prepare: async (catalog, from, times) => {
        await declared('h')!(catalog, from, times)
        await each(async (catalog, i) => {
          const { location } = await catalog.deregisterTable({ id: spare('h')(i) })
          locations.set(i, location)
        })!(catalog, from, times)
      },
      call: (catalog, i) => catalog.registerTable({ id: spare('k')(i), location: locations.get(i)! }),
    },
    dropTable: { prepare: declared('p'), call: (catalog, i) => catalog.dropTable({ id: spare('p')(i) }) },
    createTableVersion: {
      prepare: declared('v'),
      call: (catalog, i) => catalog.createTableVersion({ id: spare('v')(i), ...manifest(i) }),
    },
    batchCreateTableVersions: {
      prepare: declared('w'),
      call: (catalog, i) =>
        catalog.batchCreateTableVersions({ entries: [{ id: spare('w')(i), ...manifest(i) }] }),
    },
    batchDeleteTableVersions: {
      prepare: versioned('x'),
      call: (catalog, i) =>
        catalog.batchDeleteTableVersions({
          id: spare('x')(i),
          ranges: [{ start_version: 1, end_version: -1 }],
        }),
    },
    batchCommitTables: {
      call: (catalog, i) =>
        catalog.batchCommitTables({
          operations: [
            { declare_table: { id: spare('m')(i) } },
            { create_table_version: { id: spare('m')(i), ...manifest(i) } },
          ],
        }),
    },
    createTableTag: {
      call: (catalog, i) => catalog.createTableTag({ id: rowTable(i), tag: `t${i}`, version: 1 }),
    },
    updateTableTag: {
      call: (catalog, i) => catalog.updateTableTag({ id: rowTable(i), tag: 'first', version: 1 }),
    },
    deleteTableTag: {
      prepare: each((catalog, i) => catalog.createTableTag({ id: rowTable(i), tag: `d${i}`, version: 1 })),
      call: (catalog, i) => catalog.deleteTableTag({ id: rowTable(i), tag: `d${i}` }),
    },
    createTableBranch: {
      prepare: versioned('y'),
      call: (catalog, i) => catalog.createTableBranch({ id: spare('y')(i), name: 'side' }),
    },
    deleteTableBranch: {
      prepare: async (catalog, from, times) => {
        await versioned('z')!(catalog, from, times)
        await each((catalog, i) => catalog.createTableBranch({ id: spare('z')(i), name: 'side' }))!(
          catalog,
          from,
          times,
        )
      },
      call: (catalog, i) => catalog.deleteTableBranch({ id: spare('z')(i), name: 'side' }),
    },
    alterTransaction: {
      prepare: changed,
      call: (catalog, i) =>
        catalog.alterTransaction({
          id: [change],
          actions: [{ setPropertyAction: { key: 'seen', value: String(i) } }],
        }),
    },
    createTable: {
      rows: true,
      call: (catalog, i) => catalog.createTable({ id: spare('c')(i), data: [{ a: i, name: `user_${i}` }] }),
    },
    insertIntoTable: {
      rows: true,
      call: (catalog, i) => catalog.insertIntoTable({ id: rowTable(i), data: [{ a: i, name: `user_${i}` }] }),
    },
    deleteFromTable: {
      rows: true,
      call: (catalog, i) =>
        catalog.deleteFromTable({ id: rowTable(i), predicate: `a = ${Math.floor(i / kept) % 1_000}` }),
    },
    updateTableSchemaMetadata: {
      rows: true,
      call: (catalog, i) =>
        catalog.updateTableSchemaMetadata({ id: rowTable(i), metadata: { seen: String(i) } }),
    },
    restoreTable: { rows: true, call: (catalog, i) => catalog.restoreTable({ id: rowTable(i), version: 1 }) },
  }
}

import { rm } from 'node:fs/promises'
import { connect, type Table } from '@lancedb/lancedb'
import { tableFromIPC, tableToIPC } from '@uwdata/flechette'
import * as apache from 'apache-arrow'
import { toArrowTable } from '../../src/engine/table/index.ts'
import { temporaryDirectory } from './folders.ts'

/** The arguments of a merge by the reference. */
interface Merge {
  readonly on: readonly string[]
  readonly updates: boolean
  readonly condition: string | undefined
  readonly inserts: boolean
  readonly orphans: boolean
  readonly orphanIf: string | undefined
}

/** The reference for comparisons: LanceDB on local files. Rows go in and come out as Arrow bytes. */
export async function openLance() {
  const folder = await temporaryDirectory()
  const db = await connect(folder)
  const rowsOf = async (table: Table): Promise<Record<string, unknown>[]> => {
    // The package's own copy of apache-arrow made this table, and only that copy could write its bytes.
    const answer = await table.query().toArrow()
    // A result without rows has no columns.
    if (answer.numRows === 0) return []
    const found = await toArrowTable(answer)
    return tableFromIPC(tableToIPC(found, { format: 'file' })!).toArray() as Record<string, unknown>[]
  }
  return {
    create: (name: string, data: Uint8Array) => db.createTable(name, apache.tableFromIPC(data)),
    rowsOf,
    async add(table: Table, data: Uint8Array) {
      await table.add(apache.tableFromIPC(data))
      return rowsOf(table)
    },
    async merge(table: Table, data: Uint8Array, merge: Merge) {
      let builder = table.mergeInsert([...merge.on])
      if (merge.updates)
        builder = builder.whenMatchedUpdateAll(merge.condition ? { where: merge.condition } : undefined)
      if (merge.inserts) builder = builder.whenNotMatchedInsertAll()
      if (merge.orphans)
        builder = builder.whenNotMatchedBySourceDelete(merge.orphanIf ? { where: merge.orphanIf } : undefined)
      const done = await builder.execute(apache.tableFromIPC(data))
      const counts = [done.numInsertedRows, done.numUpdatedRows, done.numDeletedRows]
      return { counts, rows: await rowsOf(table) }
    },
    async update(table: Table, updates: readonly [string, string][], where: string | undefined) {
      const { rowsUpdated } = await table.update({
        valuesSql: Object.fromEntries(updates),
        ...(where === undefined ? {} : { where }),
      })
      return { updated: rowsUpdated, rows: await rowsOf(table) }
    },
    async [Symbol.asyncDispose]() {
      db.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import { type Table, tableToIPC } from '@uwdata/flechette'
import { tableFromIPC } from 'apache-arrow'

/** What the reference answers: the ids of the rows it selects, or its error. */
export type Answer = { readonly ids: readonly number[] } | { readonly error: string }

/** A table in the reference's hands. */
export interface Reference extends AsyncDisposable {
  ask(predicate: string): Promise<Answer>
}

/** Gives a table, which has a column `id`, to the reference. */
export async function openReference(table: Table): Promise<Reference> {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-reference-'))
  const database = await connect(directory)
  const opened = await database.createTable('t', tableFromIPC(tableToIPC(table, { format: 'file' })!))
  return {
    async ask(predicate) {
      try {
        const rows = await opened.query().where(predicate).select(['id']).toArray()
        return { ids: rows.map(({ id }) => Number(id)).sort((a, b) => a - b) }
      } catch (error) {
        return { error: (error as Error).message }
      }
    },
    async [Symbol.asyncDispose]() {
      opened.close()
      database.close()
      await rm(directory, { recursive: true })
    },
  }
}

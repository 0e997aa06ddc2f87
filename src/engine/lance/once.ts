import type { Schema } from '@uwdata/flechette'
import { CatalogError } from '../../base/errors.ts'
import { type PreparedChange, prepareChange, type RowChange, type RowsChanged } from './change.ts'
import { columnsToWrite } from './columns.ts'

/** A change that is prepared once: its rows may come from a stream, which is over then. */
export class PreparedOnce {
  readonly #make: (schema: Schema) => RowChange | Promise<RowChange>
  #done: { readonly schema: Uint8Array; readonly change: PreparedChange } | undefined

  constructor(make: (schema: Schema) => RowChange | Promise<RowChange>) {
    this.#make = make
  }

  /** The change, for a table of a schema. */
  async for(bytes: Uint8Array): Promise<PreparedChange> {
    if (this.#done === undefined) {
      const schema = columnsToWrite(bytes)
      const change = await prepareChange(await this.#make(schema), schema)
      this.#done = { schema: bytes, change }
    } else if (Buffer.compare(this.#done.schema, bytes) !== 0) {
      throw new CatalogError(
        'ConcurrentModification',
        'Another writer changed the columns while the process of Lance was started again. Send the change again.',
      )
    }
    return this.#done.change
  }

  /** What a change did that was recorded, where that is known without Lance. */
  readonly counts = (): RowsChanged | undefined => {
    const change = this.#done?.change
    if (change?.kind === 'insert') return { affected: change.affected }
    const isCounted = change?.kind === 'delete' || change?.kind === 'update' || change?.kind === 'merge'
    return isCounted ? undefined : { affected: 0 }
  }
}

import { keys, recordFormat, type TransactionRecord } from '../../base/store/records.ts'
import type { Key, Reader, Store, Writer } from '../../base/store/store.ts'
import { failLapsed } from './lapsed.ts'
import { isFinished } from './transaction-record.ts'
import type { UpkeepTask } from './upkeep.ts'

/*
 * A transaction that names a version pins its table, before it looks the version up: until its end, retention removes no
 * version of the table. The store orders the two. So a version that was found stays there.
 */

/** Pins tables for a transaction that has a record. */
export async function pinTables(
  { store }: { readonly store: Store },
  transactionId: string,
  tables: readonly string[],
): Promise<void> {
  await store.write((writer) => {
    for (const table of tables) writer.put(keys.pin(table, transactionId), { v: recordFormat })
  })
}

/** The pins of one transaction. */
export class TransactionPins {
  readonly #core: { readonly store: Store }
  readonly #transaction: { readonly id: string; record(): Promise<void> }
  readonly #pinned = new Set<string>()

  constructor(
    core: { readonly store: Store },
    transaction: { readonly id: string; record(): Promise<void> },
  ) {
    this.#core = core
    this.#transaction = transaction
  }

  /** Pins tables, unless they are pinned. */
  async add(tables: readonly string[]): Promise<void> {
    const fresh = tables.filter((id) => !this.#pinned.has(id))
    if (fresh.length === 0) return
    await this.#transaction.record()
    await pinTables(this.#core, this.#transaction.id, fresh)
    for (const id of fresh) this.#pinned.add(id)
  }

  /** Removes them, within the commit. */
  remove(writer: Writer): void {
    for (const id of this.#pinned) writer.remove(keys.pin(id, this.#transaction.id))
  }
}

/** Whether a transaction that has not ended pins a table. */
export function isPinned(reader: Reader, table: string): boolean {
  const pins = reader.range({ prefix: keys.pins(table), keysOnly: true })
  return Array.from(pins, ({ key }) => String(key[2])).some((id) => isOpen(reader, id))
}

function isOpen(reader: Reader, transactionId: string): boolean {
  const record = reader.get<TransactionRecord>(keys.transaction(transactionId))
  return record !== undefined && !isFinished(record.status)
}

/** Pins that are read in one turn of the upkeep. */
const inOneTurn = 250

/** Removes the pins of transactions that have ended, some at a time. */
export function clearPins({ store, now }: { readonly store: Store; readonly now: () => number }): UpkeepTask {
  let start: Key | undefined
  return {
    run: async ({ throttled }) => {
      const range = { prefix: keys.allPins, limit: inOneTurn, keysOnly: true, ...(start && { start }) }
      const pins = await store.read((reader) => Array.from(reader.range(range), ({ key }) => key))
      start = pins.length < inOneTurn ? undefined : pins.at(-1)
      if (pins.length === 0) return false
      await throttled(() =>
        store.write((writer) => {
          // A process that died cannot commit any more once that is recorded.
          failLapsed(
            writer,
            pins.map((key) => String(key[2])),
            now(),
          )
          for (const key of pins) if (!isOpen(writer, String(key[2]))) writer.remove(key)
        }),
      )
      // The rest is for the next turn.
      return false
    },
  }
}

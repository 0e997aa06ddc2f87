import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier, quote, sameNames } from '../../base/model/identifier.ts'
import { droppedId, type HeldMark, keys, retainedFormat } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import { requireFormat } from '../lookup/catalog-format.ts'
import { type FoundTable, putTable, readTable } from '../lookup/names.ts'
import type { ChangeContext } from '../transactions/commit.ts'

/*
 * Dropped tables are held for a time. A held table keeps all of its records and its claim on its location. Only its
 * name moves: to a namespace that no identifier leads to. So maintenance keeps its content as that of any other table,
 * and bringing it back moves the name again. There, the name begins with the time at which its period ends: those
 * whose period is over come first.
 */

/** A table that was dropped, and is held. */
export interface HeldTable extends FoundTable {
  readonly dropped: HeldMark
}

const digits = 16

/** Drops a table, and holds it until a time. `id` is the identifier that it had. */
export function holdTable(
  { writer, now }: ChangeContext,
  { id: internalId, record }: FoundTable,
  id: Identifier,
  millis: number,
): void {
  requireFormat(writer, retainedFormat)
  const until = Math.min(now + millis, Number.MAX_SAFE_INTEGER)
  const name = `${String(until).padStart(digits, '0')}-${internalId}`
  writer.remove(keys.table(record.parent, record.name))
  putTable(writer, internalId, {
    ...record,
    parent: droppedId,
    name,
    dropped: { id: [...id], at: now, until },
  })
}

/** Gives a held table a name again. */
export function bringBack(writer: Writer, { id, record }: HeldTable, parent: string, name: string): void {
  const { dropped: _, ...kept } = record
  writer.remove(keys.table(droppedId, record.name))
  putTable(writer, id, { ...kept, parent, name })
}

/** The held table with a name among those that are dropped. */
export function heldTable(reader: Reader, name: string): HeldTable | undefined {
  const found = readTable(reader, droppedId, name)
  const dropped = found?.record.dropped
  return found && dropped && { ...found, dropped }
}

/** The held tables that had an identifier, the last one to be removed first. */
export function* heldWith(reader: Reader, id: Identifier, tableId?: string | null): Generator<HeldTable> {
  for (const { key } of reader.range({ prefix: keys.tables(droppedId), reverse: true, keysOnly: true })) {
    const name = String(key[3])
    if (tableId != null && name.slice(digits + 1) !== tableId) continue
    const held = heldTable(reader, name)
    if (held && sameNames(held.dropped.id, id)) yield held
  }
}

/** The error for an identifier that no held table had. */
export function notHeld(id: Identifier, tableId: string | null | undefined): CatalogError {
  const which = tableId == null ? '' : ` with the table_id ${quote(tableId)}`
  return new CatalogError(
    'TableNotFound',
    `No dropped table ${formatIdentifier(id)}${which} is held. Tables are held for the time of the option retainDropped (serve --retain-dropped), which is off by default in code. List the dropped tables to see which are there.`,
  )
}

import {
  keys,
  recordFormat,
  type StoredTable,
  type TablePointer,
  type TableRecord,
} from '../../base/store/records.ts'
import type { Key, Reader, Value, Writer } from '../../base/store/store.ts'

/*
 * The stored record of a table is packed: it leaves out every field that is as in a table just declared.
 * Only this file knows the stored form.
 */

/** A table that was looked up, by its name or by its internal id. */
export interface FoundTable {
  readonly id: string
  readonly record: TableRecord
}

/** The table with a given name in a namespace, if it exists. */
export function readTable(reader: Reader, parent: string, name: string): FoundTable | undefined {
  const stored = reader.get<StoredTable>(keys.table(parent, name))
  return stored && { id: stored.id, record: unpack(stored, parent, name) }
}

/** The table with a given internal id, whatever its current name. */
export function tableById(reader: Reader, internalId: string): FoundTable | undefined {
  const pointer = reader.get<TablePointer>(keys.tablePointer(internalId))
  return pointer && readTable(reader, pointer[0], pointer[1])
}

/** The record of a table without the head of its main branch, and the table's id; undefined for other records. */
export function withoutMainHead(
  key: Key,
  value: Value,
): { readonly group: string; readonly kept: Value } | undefined {
  if (key.length !== 4 || key[0] !== 'n' || key[2] !== 't') return undefined
  const { main: _, ...kept } = value as StoredTable
  return { group: kept.id, kept }
}

/** Stores a new table, or a table with a new name. */
export function putTable(writer: Writer, internalId: string, record: TableRecord): void {
  changeTable(writer, internalId, record)
  const pointer: TablePointer = [record.parent, record.name]
  writer.put(keys.tablePointer(internalId), Object.freeze(pointer))
}

/** Stores a changed table that keeps its name. */
export function changeTable(writer: Writer, internalId: string, record: TableRecord): void {
  writer.put(keys.table(record.parent, record.name), pack(internalId, record))
}

export function removeTable(writer: Writer, internalId: string, { parent, name }: TableRecord): void {
  writer.remove(keys.table(parent, name))
  writer.remove(keys.tablePointer(internalId))
}

/**
 * Whether a table only ever had a name, at a location that the catalog chose. It has no versions, tags or branches, so
 * nothing need look for them: in a batch of such tables, the walks took most of the time.
 */
export function isNameOnly({ location, main }: TableRecord): boolean {
  return location === null && main.last === null
}

/**
 * The record is frozen, so that a store that keeps objects need not copy it. It is built member by member: with
 * spread members, reading the record from memory took half of the time of a describe.
 */
function pack(id: string, { location, properties, created_at, main, registered }: TableRecord): StoredTable {
  const stored: { -readonly [Member in keyof StoredTable]: StoredTable[Member] } = {
    v: recordFormat,
    id,
    created_at,
  }
  if (location !== null) stored.location = location
  if (!isEmpty(properties)) stored.properties = properties
  if (main.latest !== null || main.last !== null) stored.main = main
  if (registered) stored.registered = true
  return Object.freeze(stored)
}

function unpack(stored: StoredTable, parent: string, name: string): TableRecord {
  return {
    parent,
    name,
    location: stored.location ?? null,
    properties: stored.properties ?? {},
    created_at: stored.created_at,
    main: stored.main ?? { latest: null, last: null },
    registered: stored.registered ?? false,
  }
}

function isEmpty(map: object): boolean {
  for (const _ in map) return false
  return true
}

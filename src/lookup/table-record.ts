import {
  keys,
  recordFormat,
  type StoredTable,
  type TablePointer,
  type TableRecord,
} from '../store/records.ts'
import type { Reader, Writer } from '../store/store.ts'

/*
 * Tables' records are packed when they are stored: what is as in a table that was just declared is left out.
 * Only this file knows the stored form.
 */

/** A table as names, or its internal id, lead to it. */
export interface FoundTable {
  readonly id: string
  readonly record: TableRecord
}

/** The table of a name in a namespace, if there is one. */
export function readTable(reader: Reader, parent: string, name: string): FoundTable | undefined {
  const stored = reader.get<StoredTable>(keys.table(parent, name))
  return stored && { id: stored.id, record: unpack(stored, parent, name) }
}

/** The table of an internal id, whatever it is called now. */
export function tableById(reader: Reader, internalId: string): FoundTable | undefined {
  const pointer = reader.get<TablePointer>(keys.tablePointer(internalId))
  return pointer && readTable(reader, pointer[0], pointer[1])
}

/** Stores a table that is new, or has a new name. */
export function putTable(writer: Writer, internalId: string, record: TableRecord): void {
  changeTable(writer, internalId, record)
  const pointer: TablePointer = [record.parent, record.name]
  writer.put(keys.tablePointer(internalId), Object.freeze(pointer))
}

/** Stores what changed of a table that keeps its name. */
export function changeTable(writer: Writer, internalId: string, record: TableRecord): void {
  writer.put(keys.table(record.parent, record.name), pack(internalId, record))
}

/** Removes a table's record, and with it its name. */
export function removeTable(writer: Writer, internalId: string, { parent, name }: TableRecord): void {
  writer.remove(keys.table(parent, name))
  writer.remove(keys.tablePointer(internalId))
}

/**
 * Frozen, so that a store that keeps objects need not copy it. Built member by member: with members spread into
 * it, reading it in memory took half of the time of a describe.
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

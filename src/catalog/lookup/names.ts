import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import {
  droppedId,
  type HeldMark,
  keys,
  type NamespaceRecord,
  recordFormat,
  retentionFormat,
  rootId,
  type StoredTable,
  type TablePointer,
  type TableRecord,
} from '../../base/store/records.ts'
import type { Key, Reader, Value, Writer } from '../../base/store/store.ts'
import { requireFormat } from './catalog-format.ts'
import { hasOwnRule } from './retention-rule.ts'

/**
 * The internal id of the namespace that the first `depth` names of an identifier lead to; undefined when the path ends early
 * or meets a table.
 */
export function lookUpNamespace(reader: Reader, id: Identifier, depth = id.length): string | undefined {
  let current = rootId
  for (let i = 0; i < depth; i++) {
    const found = reader.get<string>(keys.namespaceName(current, id[i]!))
    if (found === undefined) return undefined
    current = found
  }
  return current
}

/** The internal id of a namespace. Throws `NamespaceNotFound` when the namespace does not exist. */
export function findNamespace(reader: Reader, id: Identifier): string {
  const found = lookUpNamespace(reader, id)
  if (found !== undefined) return found
  const missing = missingNamespace(reader, id) ?? id
  throw new CatalogError(
    'NamespaceNotFound',
    `There is no namespace ${formatIdentifier(missing)}. ${listNamespaces(missing)}`,
  )
}

/** The first namespace on the way that does not exist. */
function missingNamespace(reader: Reader, id: Identifier): Identifier | undefined {
  for (let depth = 1; depth <= id.length; depth++) {
    if (lookUpNamespace(reader, id, depth) === undefined) return id.slice(0, depth)
  }
  return undefined
}

function listNamespaces(missing: Identifier): string {
  return `Create it first, or list the namespaces of ${parentOf(missing)} to see which exist.`
}

function parentOf(id: Identifier): string {
  return id.length === 1 ? 'the root' : formatIdentifier(id.slice(0, -1))
}

/** The record of a namespace other than the root. */
export function namespaceRecord(reader: Reader, internalId: string): NamespaceRecord {
  return present(reader.get<NamespaceRecord>(keys.namespace(internalId)), `namespace ${internalId}`)
}

export function lookUpTable(reader: Reader, id: Identifier): FoundTable | undefined {
  const parent = lookUpNamespace(reader, id, id.length - 1)
  return parent === undefined ? undefined : readTable(reader, parent, id.at(-1)!)
}

/** Finds a table. Throws `TableNotFound` when the table does not exist. */
export function findTable(reader: Reader, id: Identifier): FoundTable {
  const found = lookUpTable(reader, id)
  if (found === undefined) throw tableNotFound(reader, id)
  return found
}

/** The error for a table that does not exist. It says where the way to it ends. */
export function tableNotFound(reader: Reader, id: Identifier): CatalogError {
  const missing = missingNamespace(reader, id.slice(0, -1))
  return new CatalogError(
    'TableNotFound',
    missing === undefined
      ? `There is no table ${formatIdentifier(id)}. List the tables of ${parentOf(id)} to see which exist.`
      : `There is no table ${formatIdentifier(id)}, nor a namespace ${formatIdentifier(missing)}. ${listNamespaces(missing)}`,
  )
}

export function tableRecord(reader: Reader, internalId: string): TableRecord {
  return present(keptTableById(reader, internalId), `table ${internalId}`).record
}

/** The identifier of a table or namespace, for messages and records. */
export function identifierOf(reader: Reader, record: { parent: string; name: string }): Identifier {
  if (record.parent === droppedId) return readTable(reader, droppedId, record.name)?.record.dropped?.id ?? []
  const names = [record.name]
  for (let id = record.parent; id !== rootId; ) {
    const parent = namespaceRecord(reader, id)
    names.push(parent.name)
    id = parent.parent
  }
  return names.reverse()
}

/** Refuses a name that a table or a namespace already has. */
export function requireFreeName(
  reader: Reader,
  parent: string,
  id: Identifier,
  code: 'TableAlreadyExists' | 'NamespaceAlreadyExists',
): void {
  const name = id.at(-1)!
  const isTable = reader.get(keys.table(parent, name)) !== undefined
  if (!isTable && reader.get(keys.namespaceName(parent, name)) === undefined) return
  const kind = isTable ? 'table' : 'namespace'
  throw new CatalogError(
    code,
    `A ${kind} ${formatIdentifier(id)} already exists; tables and namespaces share their names. Choose another name, or drop it first.`,
  )
}

function present<T>(record: T | undefined, what: string): T {
  if (record === undefined)
    throw new CatalogError('Internal', `The record of ${what} is missing from the store.`)
  return record
}

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
  return stored && foundTable(stored, parent, name)
}

/** The table whose stored record was read by a walk over the names of a namespace. */
export function foundTable(stored: StoredTable, parent: string, name: string): FoundTable {
  const record: TableRecord & { dropped?: HeldMark } = {
    parent,
    name,
    location: stored.location ?? null,
    properties: stored.properties ?? {},
    created_at: stored.created_at,
    main: stored.main ?? { latest: null, last: null },
    registered: stored.registered ?? false,
  }
  if (stored.dropped !== undefined) record.dropped = stored.dropped
  return { id: stored.id, record }
}

/** The table with a given internal id, whatever its current name. A dropped one is not there. */
export function tableById(reader: Reader, internalId: string): FoundTable | undefined {
  const pointer = reader.get<TablePointer>(keys.tablePointer(internalId))
  return pointer && pointer[0] !== droppedId ? readTable(reader, pointer[0], pointer[1]) : undefined
}

/** The same, also of a table that is dropped and held: its content is still needed. */
export function keptTableById(reader: Reader, internalId: string): FoundTable | undefined {
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

/**
 * Stores a changed table that keeps its name. The stored record is frozen, so that a store that keeps objects need not
 * copy it. It is built member by member: with spread members, reading the record from memory took half of the time of a
 * describe.
 */
export function changeTable(writer: Writer, internalId: string, record: TableRecord): void {
  const { location, properties, created_at, main, registered, dropped } = record
  const stored: { -readonly [Member in keyof StoredTable]: StoredTable[Member] } = {
    v: recordFormat,
    id: internalId,
    created_at,
  }
  if (location !== null) stored.location = location
  for (const _ in properties) {
    stored.properties = properties
    // Upkeep finds these tables without a look at all of them.
    if (hasOwnRule(properties)) {
      requireFormat(writer, retentionFormat)
      writer.put(keys.ruled(internalId), { v: recordFormat })
    }
    break
  }
  if (main.latest !== null || main.last !== null) stored.main = main
  if (registered) stored.registered = true
  if (dropped !== undefined) stored.dropped = dropped
  writer.put(keys.table(record.parent, record.name), Object.freeze(stored))
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

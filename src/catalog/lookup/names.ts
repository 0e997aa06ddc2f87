import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { keys, type NamespaceRecord, rootId, type TableRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { type FoundTable, readTable, tableById } from './table-record.ts'

export type { FoundTable } from './table-record.ts'

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
  return `Create it first, or list the namespaces of ${formatIdentifier(missing.slice(0, -1))} to see which exist.`
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
      ? `There is no table ${formatIdentifier(id)}. List the tables of ${formatIdentifier(id.slice(0, -1))} to see which exist.`
      : `There is no table ${formatIdentifier(id)}, nor a namespace ${formatIdentifier(missing)}. ${listNamespaces(missing)}`,
  )
}

export function tableRecord(reader: Reader, internalId: string): TableRecord {
  return present(tableById(reader, internalId), `table ${internalId}`).record
}

/** The identifier of a table or namespace, for messages and records. */
export function identifierOf(reader: Reader, record: { parent: string; name: string }): Identifier {
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

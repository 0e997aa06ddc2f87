import type { Identifier } from '../../../base/model/identifier.ts'
import {
  type BranchRecord,
  droppedId,
  type Head,
  keys,
  type NamespaceRecord,
  type RemovalRecord,
  rootId,
  type ShareRecord,
  type StoredTable,
  type TablePointer,
  type TagRecord,
  type TransactionRecord,
  type VersionRecord,
} from '../../../base/store/records.ts'
import type { Key, Reader } from '../../../base/store/store.ts'
import { segmentsOf } from '../../locations/locations.ts'
import { keysOf } from '../../locations/shared-content.ts'
import { keptTableById, readTable } from '../../lookup/names.ts'
import { type StoredEntry, wholeEntry } from '../../transactions/recorded-changes.ts'
import { hasLapsed } from '../../transactions/transaction-record.ts'

/** What is wrong with a record. */
export interface Fault {
  readonly harmless?: boolean
  /** The end of a sentence that begins with the record. A harmless fault also says what removes it. */
  readonly message: string
}

type Check = (reader: Reader, key: Key, value: never, now: number) => Fault | undefined

const fault = (message: string): Fault => ({ message })

/** A longer chain of parents is a cycle. */
const maxParents = 64

/**
 * How the records of each family must fit other records. A check reads everything in one transaction, so it never
 * takes concurrent writes for a fault.
 */
export const checks: Readonly<Record<string, Check>> = {
  n(reader, [, parent, kind, name], value: string | StoredTable) {
    if (typeof value === 'string') {
      if (kind !== 'n') return fault('is a name of a table with no record of one')
      return targetFault(
        `namespace ${value}`,
        reader.get<NamespaceRecord>(keys.namespace(value)),
        parent,
        name,
      )
    }
    if (kind !== 't') return fault('is a name of a namespace with the record of a table')
    const pointer = reader.get<TablePointer>(keys.tablePointer(value.id))
    const found = pointer && { parent: pointer[0], name: pointer[1] }
    return (
      targetFault(`table ${value.id}`, found, parent, name) ??
      tableFault(reader, String(parent), String(name))
    )
  },

  s(reader, [, id], value: NamespaceRecord) {
    if (reader.get(keys.namespaceName(value.parent, value.name)) !== id) return unnamed(value.name)
    return parentFault(reader, value)
  },

  t(reader, [, id], [parent, name]: TablePointer) {
    return reader.get<StoredTable>(keys.table(parent, name))?.id === id ? undefined : unnamed(name)
  },

  v(reader, [, table, branch, version], _value: VersionRecord) {
    const head = headOf(reader, String(table), String(branch))
    if (head === undefined) return fault('belongs to a table or branch that is not there')
    if (head.latest !== null && Number(version) <= head.latest) return undefined
    return fault(`comes after the latest version, which is ${head.latest}`)
  },

  g(reader, [, table], { branch, version }: TagRecord) {
    if (!reader.get(keys.tablePointer(String(table)))) return fault('belongs to a table that is not there')
    if (reader.get(keys.version(String(table), branch, version))) return undefined
    return fault(`tags version ${version}${branch && ` of branch ${branch}`}, which is not there`)
  },

  b(reader, [, table, branch], { head }: BranchRecord) {
    if (!reader.get(keys.tablePointer(String(table)))) return fault('belongs to a table that is not there')
    return headFault(reader, String(table), String(branch), head)
  },

  x(_reader, _key, value: TransactionRecord, now) {
    if (!hasLapsed(value, now)) return undefined
    return {
      harmless: true,
      message: `was left ${value.status} by a process that died; it counts as failed once anybody asks, and is removed with old records`,
    }
  },

  f(reader, _key, value: StoredEntry) {
    return wholeEntry(reader, value) ? undefined : fault(`names the transaction ${value}, which is not there`)
  },

  o(reader, key, value: ShareRecord) {
    const both = keysOf(value)
    const isOne = both.some((one) => sameParts(one, key))
    if (!isOne) return fault('stands for other folders than it names')
    if (both.every((one) => reader.get(one) !== undefined)) return undefined
    return fault('lacks its counterpart')
  },

  l(reader, key, value: string | RemovalRecord, now) {
    const segments = key.slice(1).map(String)
    if (typeof value === 'object') {
      if (value.until >= now) return undefined
      return {
        harmless: true,
        message: 'still holds content of a dropped table; a vacuum removes what no clone needs',
      }
    }
    const table = keptTableById(reader, value)?.record
    if (table === undefined) return fault(`is owned by the table ${value}, which is not there`)
    if (table.location === null || !sameParts(segmentsOf(table.location), segments)) {
      return fault(`is owned by the table ${value}, which lies elsewhere`)
    }
    for (let depth = 1; depth < segments.length; depth++) {
      const around = reader.get(keys.location(segments.slice(0, depth)))
      if (typeof around === 'string') return fault(`lies within a location of the table ${around}`)
    }
    return undefined
  },
}

/** Whether two keys, or the names in two locations, are the same one by one. */
function sameParts(a: Key, b: Key): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i])
}

/** The target of a name must exist, and have that name. */
function targetFault(
  what: string,
  target: { parent: string; name: string } | undefined,
  parent: unknown,
  name: unknown,
): Fault | undefined {
  if (target === undefined) return fault(`names the ${what}, which is not there`)
  if (target.parent === parent && target.name === name) return undefined
  return fault(`names the ${what}, which has another name`)
}

function tableFault(reader: Reader, parent: string, name: string): Fault | undefined {
  const { id, record } = readTable(reader, parent, name)!
  const named = parentFault(reader, record) ?? headFault(reader, id, '', record.main)
  if (named || record.location === null) return named
  if (reader.get(keys.location(segmentsOf(record.location))) === id) return undefined
  return fault(`does not own its location ${record.location}`)
}

function unnamed(name: string): Fault {
  return fault(`has the name ${JSON.stringify(name)}, which does not lead to it: no identifier reaches it`)
}

/** The parents of a table or namespace must lead to the root. */
function parentFault(reader: Reader, record: { parent: string; name: string }): Fault | undefined {
  return idOf(reader, record) ? undefined : fault('lies in a namespace that does not lead to the root')
}

function headFault(reader: Reader, table: string, branch: string, { latest }: Head): Fault | undefined {
  if (latest === null || reader.get(keys.version(table, branch, latest))) return undefined
  return fault(`says that its latest version is ${latest}, which is not there`)
}

function headOf(reader: Reader, table: string, branch: string): Head | undefined {
  if (branch === '') return keptTableById(reader, table)?.record.main
  if (reader.get(keys.tablePointer(table)) === undefined) return undefined
  return reader.get<BranchRecord>(keys.branch(table, branch))?.head
}

/** The identifier of a record; undefined when its parents do not lead to the root. */
export function idOf(reader: Reader, record: { parent: string; name: string }): Identifier | undefined {
  if (record.parent === droppedId) return readTable(reader, droppedId, record.name)?.record.dropped?.id
  const names = [record.name]
  for (let id = record.parent; id !== rootId; ) {
    const parent = reader.get<NamespaceRecord>(keys.namespace(id))
    if (parent === undefined || names.length > maxParents) return undefined
    names.push(parent.name)
    id = parent.parent
  }
  return names.reverse()
}

/** The identifier of the table or namespace that a record belongs to, if it is known. */
export function ownerId(reader: Reader, key: Key, value: unknown): Identifier | undefined {
  const [family, first] = key
  if (family === 'n' && key.length === 4) return idOf(reader, { parent: String(first), name: String(key[3]) })
  if (family === 's') return idOf(reader, value as NamespaceRecord)
  if (!['t', 'v', 'g', 'b', 'l'].includes(String(family))) return undefined
  const table = keptTableById(reader, String(family === 'l' ? value : first))
  return table && idOf(reader, table.record)
}

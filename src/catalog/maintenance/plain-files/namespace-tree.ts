import {
  type BranchRecord,
  keys,
  type NamespaceRecord,
  rootId,
  type TagRecord,
} from '../../../base/store/records.ts'
import type { Reader } from '../../../base/store/store.ts'
import { type FoundTable, readTable } from '../../lookup/names.ts'
import type { MaintenanceContext } from '../context.ts'
import { type KnownTable, knownTable } from '../tables.ts'

/** A table with its tags and branches. */
export interface TableWithRefs extends KnownTable {
  readonly tags: readonly (readonly [name: string, TagRecord])[]
  readonly branches: readonly (readonly [name: string, BranchRecord])[]
}

/** A namespace with all namespaces and tables below it. */
export interface NamespaceTree {
  /** Undefined for the root namespace. */
  readonly record: NamespaceRecord | undefined
  readonly namespaces: readonly NamespaceTree[]
  readonly tables: readonly TableWithRefs[]
}

/** Reads all namespaces and tables of the catalog in one transaction. */
export function readNamespaceTree(core: MaintenanceContext): Promise<NamespaceTree> {
  return core.store.read((reader) => treeOf(core, reader, rootId))
}

function treeOf(core: MaintenanceContext, reader: Reader, id: string): NamespaceTree {
  const namespaces = Array.from(reader.range<string>({ prefix: keys.namespaceNames(id) }), ({ value }) =>
    treeOf(core, reader, value),
  )
  const tables = Array.from(reader.range({ prefix: keys.tables(id), keysOnly: true }), ({ key }) =>
    tableWithRefs(core, reader, readTable(reader, id, String(key[3]))!),
  )
  return {
    record: id === rootId ? undefined : reader.get<NamespaceRecord>(keys.namespace(id)),
    namespaces,
    tables,
  }
}

function tableWithRefs(
  core: MaintenanceContext,
  reader: Reader,
  { id: internalId, record }: FoundTable,
): TableWithRefs {
  return {
    ...knownTable(core, reader, internalId, record),
    tags: Array.from(reader.range<TagRecord>({ prefix: keys.tags(internalId) }), ({ key, value }) => [
      String(key[2]),
      value,
    ]),
    branches: Array.from(
      reader.range<BranchRecord>({ prefix: keys.branches(internalId) }),
      ({ key, value }) => [String(key[2]), value],
    ),
  }
}

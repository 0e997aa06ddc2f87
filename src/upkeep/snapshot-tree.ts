import type { Core } from '../operations/support/core.ts'
import {
  type BranchRecord,
  keys,
  type NameRecord,
  type NamespaceRecord,
  rootId,
  type TableRecord,
  type TagRecord,
} from '../store/records.ts'
import type { Reader } from '../store/store.ts'
import { type KnownTable, knownTable } from './tables.ts'

/** A table with its tags and branches. */
export interface WholeTable extends KnownTable {
  readonly tags: readonly (readonly [name: string, TagRecord])[]
  readonly branches: readonly (readonly [name: string, BranchRecord])[]
}

/** A namespace and all below it. */
export interface Tree {
  /** Undefined at the root. */
  readonly record: NamespaceRecord | undefined
  readonly namespaces: readonly Tree[]
  readonly tables: readonly WholeTable[]
}

/** Everything the catalog knows, as it is at one moment. */
export function snapshotTree(core: Core): Promise<Tree> {
  return core.store.read((reader) => treeOf(core, reader, rootId))
}

function treeOf(core: Core, reader: Reader, id: string): Tree {
  const namespaces: Tree[] = []
  const tables: WholeTable[] = []
  for (const { value } of reader.range<NameRecord>({ prefix: keys.names(id) })) {
    const child = value.slice(1)
    if (value[0] === 'n') namespaces.push(treeOf(core, reader, child))
    else tables.push(wholeTable(core, reader, child))
  }
  return {
    record: id === rootId ? undefined : reader.get<NamespaceRecord>(keys.namespace(id)),
    namespaces,
    tables,
  }
}

function wholeTable(core: Core, reader: Reader, internalId: string): WholeTable {
  const record = reader.get<TableRecord>(keys.table(internalId))!
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

import { invalid } from '../../../base/errors.ts'
import type { Identifier } from '../../../base/model/identifier.ts'
import { keys, rootId } from '../../../base/store/records.ts'
import type { Reader } from '../../../base/store/store.ts'
import type { MaintenanceContext } from '../context.ts'
import { withBackupLease } from '../with-backup-lease.ts'
import { type ExportReport, isInSource } from './export.ts'
import { type ImportOptions, type ImportReport, importItems } from './import.ts'
import { about, recordPublished } from './lance.ts'
import { type NamespaceTree, readNamespaceTree } from './namespace-tree.ts'
import type { ExportItem } from './read-export.ts'
import { filesOf } from './table-files.ts'

export interface CopyReport extends ImportReport {
  readonly inPlace: ExportReport['inPlace']
}

/**
 * Copies a snapshot of a catalog into an empty one: all of it in one change, or nothing. Rows go from content to
 * content, one file of an export at a time.
 */
export async function copyInto(
  source: MaintenanceContext,
  target: MaintenanceContext,
  { signal, onProgress }: ImportOptions = {},
): Promise<CopyReport> {
  await target.store.read(requireEmpty)
  return withBackupLease(
    source,
    async (leased) => {
      await recordPublished(source)
      const tree = await readNamespaceTree(source)
      const items = itemsOf(source, tree, [], leased)
      // Others may have begun to use the target meanwhile.
      const report = await importItems(target, items, { signal: leased, onProgress }, requireEmpty)
      const inPlace = report.inPlace.map((one) => ({ ...one, inSource: isInSource(source, one.location) }))
      return { ...report, inPlace }
    },
    signal,
  )
}

async function* itemsOf(
  core: MaintenanceContext,
  { namespaces, tables }: NamespaceTree,
  parent: Identifier,
  signal: AbortSignal,
): AsyncGenerator<ExportItem> {
  for (const child of namespaces) {
    const { name, properties, created_at } = child.record!
    const id = [...parent, name]
    yield { kind: 'namespace', id, json: { name, properties, created_at } }
    yield* itemsOf(core, child, id, signal)
  }
  for (const table of tables) {
    const id = [...parent, table.record.name]
    const { json, read, dataset } = await filesOf(core, table, { history: true, signal }).catch((error) => {
      throw about(id, error, 'copied')
    })
    const rows = (name: string) => read(name, signal)
    yield { kind: 'table', id, json, rows, dataset: dataset && (async () => dataset), where: id.join('.') }
  }
}

function requireEmpty(reader: Reader): void {
  for (const _ of reader.range({ prefix: keys.names(rootId), limit: 1, keysOnly: true })) {
    throw invalid('The target of the copy is not empty. Give a catalog that holds nothing, or a new folder.')
  }
}

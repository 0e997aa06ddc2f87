import type { Identifier } from '../../base/model/identifier.ts'
import { noIndex } from '../../base/model/missing-index.ts'
import { once } from '../../base/once.ts'
import type { VersionRecord } from '../../base/store/records.ts'
import type { DatasetToRead } from '../../engine/lance/index.ts'
import { nameOf, versionOfName } from '../locations/lance-files.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { FoundVersion } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import type { VersionRows } from './version-rows.ts'

/** Whether Lance wrote a version: its manifest has a name that Lance gives. */
export function isOfLance({ rows, manifest_path, metadata }: VersionRecord): boolean {
  if (rows !== undefined || metadata?.table_type !== undefined) return false
  return versionOfName(nameOf(manifest_path)) !== undefined
}

const lanceRead = /* @__PURE__ */ once(() => import('./lance-read.ts'))

/** Rows of Lance, by Lance itself. It opens the very manifest that the record of the version names. */
export function lanceRows(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  found: FoundVersion,
): VersionRows {
  const { record } = found
  const open = async () => {
    const { toRead } = await lanceRead()
    return { lance: await core.lance(), dataset: toRead(core, id, table, found) }
  }
  let opened: ReturnType<typeof open> | undefined
  type Lance = Awaited<ReturnType<typeof core.lance>>
  const withLance = async <T>(work: (lance: Lance, dataset: DatasetToRead) => Promise<T>) => {
    opened ??= open()
    const { lance, dataset } = await opened
    return work(lance, dataset)
  }
  return {
    count: (predicate, work) => withLance((lance, dataset) => lance.count(dataset, predicate, work)),
    query: (asked) => withLance((lance, dataset) => lance.query(dataset, asked)),
    blobs: (wanted, work) => withLance((lance, dataset) => lance.blobs(dataset, wanted, work)),
    async blob(wanted, work) {
      const blob = await withLance((lance, dataset) => lance.blob(dataset, wanted, work))
      return { ...blob, version: found.version }
    },
    explain: (asked) => withLance((lance, dataset) => lance.explain(dataset, asked)),
    async stats() {
      const found = await withLance((lance, dataset) => lance.stats(dataset))
      const { totalBytes, numRows, numIndices, fragmentStats } = found
      return {
        bytes: totalBytes,
        rows: numRows,
        indices: numIndices,
        fragments: fragmentStats.numFragments,
        smallFragments: fragmentStats.numSmallFragments,
        lengths: fragmentStats.lengths,
      }
    },
    async describe() {
      const [schema, { fragmentStats }] = await withLance((lance, dataset) =>
        Promise.all([lance.schema(dataset), lance.stats(dataset)]),
      )
      return { schema, metadata: schema.metadata ?? new Map(), fragments: fragmentStats.numFragments }
    },
    indexNames: async () =>
      (await withLance((lance, dataset) => lance.indexes(dataset))).map(({ name }) => name),
    prewarm: (name) => withLance((lance, dataset) => lance.prewarm(dataset, name)),
    writeSpec: () => withLance((lance, dataset) => lance.writeSpec(dataset)),
    async indexes(names) {
      const all = await withLance((lance, dataset) => lance.indexes(dataset))
      return names.map((wanted) => {
        const index = all.find(({ name }) => name === wanted)
        if (index === undefined) {
          throw noIndex(
            wanted,
            all.map(({ name }) => name),
          )
        }
        return { ...index, createdAt: index.createdAt ?? record.timestamp_millis }
      })
    },
  }
}

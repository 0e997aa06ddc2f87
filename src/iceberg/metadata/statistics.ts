import {
  intItem,
  readList,
  readObject,
  readOptionalString,
  readOptionalStringMap,
  readString,
  sameItems,
  withLongs,
  withMembers,
} from './read.ts'
import type { Long, StatisticsFile } from './types.ts'

/** A file of statistics from parsed JSON. */
export function readStatistics(value: unknown, where: string): StatisticsFile {
  const file = readPartitionStatistics(value, where)
  const blobs = readList(file, 'blob-metadata', where, readBlob)
  readOptionalString(file, 'key-metadata', where)
  const checked = withLongs(file, where, ['file-footer-size-in-bytes'])
  return withMembers(checked, { 'blob-metadata': sameItems(file['blob-metadata'], blobs) })
}

/** A file of partition statistics from parsed JSON. */
export function readPartitionStatistics(value: unknown, where: string): StatisticsFile {
  const object = readObject(value, where)
  readString(object, 'statistics-path', where)
  return withLongs(object, where, ['snapshot-id', 'file-size-in-bytes']) as StatisticsFile
}

function readBlob(value: unknown, where: string): unknown {
  const object = readObject(value, where)
  readString(object, 'type', where)
  readList(object, 'fields', where, intItem)
  readOptionalStringMap(object, 'properties', where)
  return withLongs(object, where, ['snapshot-id', 'sequence-number'])
}

/** The files of statistics of a table while they change, by their snapshots. */
export class StatisticsFiles {
  readonly #files = new Map<Long, StatisticsFile[]>()
  changed = false

  constructor(files: readonly StatisticsFile[]) {
    for (const file of files) {
      const of = this.#files.get(file['snapshot-id'])
      if (of === undefined) this.#files.set(file['snapshot-id'], [file])
      else of.push(file)
    }
  }

  /** Sets the only file of a snapshot. */
  set(file: StatisticsFile): void {
    this.#files.delete(file['snapshot-id'])
    this.#files.set(file['snapshot-id'], [file])
    this.changed = true
  }

  /** Removes the files of a snapshot. False where there are none. */
  delete(snapshotId: Long): boolean {
    const found = this.#files.delete(snapshotId)
    this.changed ||= found
    return found
  }

  toList(): StatisticsFile[] {
    return [...this.#files.values()].flat()
  }
}

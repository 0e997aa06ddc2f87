import { contentKey, type FragmentEntry, type IndexEntry } from '../format/manifest.ts'
import { bytesOfColumn, type TableFiles } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { readColumns } from '../read/fragment-read.ts'
import { batchAt } from '../read/projection.ts'
import { ByteCache } from '../storage/cache.ts'
import { uncached } from '../storage/coalesced-read.ts'
import { checksum, type Range } from '../storage/objects.ts'
import { ValueHold } from '../write/value-memory.ts'
import { bytesOfRow, type EncodedIndex, encodeIndex } from './hash-index.ts'
import { type FoundField, lackingIn } from './indexed-fields.ts'
import { hashesOf } from './value-hashes.ts'

/** Bytes of a file of indexes from which on the next index begins another one. */
const fileBytes = 4 << 20

/** An index whose file is not written yet. */
interface Pending extends EncodedIndex {
  readonly key: string
  readonly of: string
  readonly field: number
}

/**
 * Writes the indexes of fragments, once for each fragment and field. Those of small fragments share a file, since
 * creating a file takes as long as indexing some hundred thousand rows. At most one column of a fragment, its index and
 * a file are in memory.
 */
export class IndexBuilder {
  readonly #written = new Map<string, IndexEntry>()
  #pending: Pending[] = []
  #pendingBytes = 0

  /** Writes the indexes that a fragment lacks. They are complete once `finish` has resolved. */
  async add(job: Job, table: TableFiles, entry: FragmentEntry, fields: readonly FoundField[]): Promise<void> {
    for (const field of lackingIn(entry, fields)) {
      const key = keyOf(entry, field.id)
      if (this.#written.has(key)) continue
      const memory = new ValueHold()
      const bytes = bytesOfColumn(table.schema, entry, field.path[0]!) + entry.rows * (bytesOfRow + 4)
      await memory.take(bytes, bytes, job.signal)
      try {
        const encoded = await indexOf(job, table, entry, field)
        await this.#add(job, table, { ...encoded, key, of: entry.path, field: field.id })
      } finally {
        memory.release()
      }
    }
  }

  async #add(job: Job, table: TableFiles, index: Pending): Promise<void> {
    this.#pending.push(index)
    this.#pendingBytes += index.buckets.length + index.rows.length
    if (this.#pendingBytes >= fileBytes) await this.finish(job, table)
  }

  /** Writes the file that is not full yet. */
  async finish({ storage }: Job, { prefix }: TableFiles): Promise<void> {
    const indexes = this.#pending
    if (indexes.length === 0) return
    this.#pending = []
    this.#pendingBytes = 0
    const path = `indexes/${storage.newName()}.index`
    const parts = indexes.flatMap(({ buckets, rows }) => (rows.length > 0 ? [buckets, rows] : [buckets]))
    const size = parts.reduce((sum, { length }) => sum + length, 0)
    const crc = checksum(parts)
    let at = 0
    const rangeOf = (bytes: Uint8Array): Range => {
      at += bytes.length
      return [at - bytes.length, bytes.length, checksum([bytes])]
    }
    await storage.writer.put(prefix + path, parts)
    for (const { key, of, field, buckets, rows } of indexes) {
      const ranges = { buckets: rangeOf(buckets), rows: rangeOf(rows) }
      this.#written.set(key, { path, size, crc, of, field, ...ranges })
    }
  }

  /** A fragment with its indexes of these fields, as far as they are written. */
  with(entry: FragmentEntry, fields: readonly FoundField[]): FragmentEntry {
    const lacking = lackingIn(entry, fields)
    const found = lacking.flatMap(({ id }) => this.#written.get(keyOf(entry, id)) ?? [])
    return found.length === 0 ? entry : { ...entry, indexes: [...(entry.indexes ?? []), ...found] }
  }
}

function keyOf(entry: FragmentEntry, field: number): string {
  return `${contentKey(entry)} ${field}`
}

/** Reads a column, and makes its index. The column is not cached, as it would evict others. */
async function indexOf(
  job: Job,
  table: TableFiles,
  entry: FragmentEntry,
  { path, field }: FoundField,
): Promise<EncodedIndex> {
  const storage = { content: uncached(job.storage.content), cache: new ByteCache(0) }
  const { columns } = await readColumns(storage, table, entry, [path[0]!])
  return encodeIndex(await hashesOf(batchAt(path, field.name, columns), job), job)
}

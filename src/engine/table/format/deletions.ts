import { bool, type Schema } from '@uwdata/flechette'
import { pathIn } from '../../../base/model/relative-path.ts'
import { makeBatch } from '../../arrow/batch.ts'
import { allRows, type Bitmap, clearTrailing, countRows, noRows } from '../../arrow/bitmap.ts'
import { encodeArrow } from '../../arrow/ipc/encode.ts'
import { readFooter } from '../../arrow/ipc/message.ts'
import { noMetadata } from '../columns/field-tree.ts'
import { brokenObject, endOfPath, type ReadStorage, readRange } from '../storage/objects.ts'
import type { Storage } from '../storage/storage.ts'
import { FileParts } from './file-parts.ts'
import type { DeletionEntry, FragmentEntry, FragmentLayout } from './manifest.ts'

const schema: Schema = {
  fields: [{ name: 'deleted', type: bool(), nullable: false, metadata: noMetadata }],
}

/** Which of a fragment's rows are deleted. */
export interface Deleted {
  readonly rows: number
  readonly deleted: Bitmap
  /** How many rows are deleted. */
  readonly count: number
}

/** Entries of deletions that are being written; valid once `written` has resolved. */
export interface Deletions {
  readonly entries: readonly DeletionEntry[]
  readonly written: Promise<void>
}

/**
 * Writes the deletions of some fragments, and returns an entry for each fragment. They share one object, since creating
 * a file takes as long as evaluating a million rows.
 */
export function writeDeletions(storage: Storage, prefix: string, fragments: readonly Deleted[]): Deletions {
  if (fragments.length === 0) return { entries: [], written: Promise.resolve() }
  const batches = fragments.map(({ rows, deleted }) =>
    makeBatch(bool(), {
      length: rows,
      values: new Uint8Array(deleted.buffer, deleted.byteOffset, (rows + 7) >> 3),
    }),
  )
  const file = new FileParts(encodeArrow(schema, [batches]))
  const { records } = readFooter(file.tail())
  const path = `deletions/${endOfPath(storage, 'arrow', file.size)}`
  const written = storage.writer.put(prefix + path, file.parts)
  const whole = { path, size: file.size, crc: file.checksum() }
  const entries = fragments.map(({ count }, i) => {
    const { offset, metadataLength, bodyLength } = records[i]!
    return { ...whole, bits: file.range(offset + metadataLength, bodyLength), count }
  })
  return { entries, written }
}

/** The key of deletions in the cache. */
function keyOf(prefix: string, { path, bits }: DeletionEntry): string {
  return `${pathIn(prefix, path)}#${bits[0]}`
}

/** The live rows of a fragment with deletions, if they are in the cache. */
export function loadedLive(
  { cache }: ReadStorage,
  prefix: string,
  deletions: DeletionEntry,
): Bitmap | undefined {
  return cache.loaded<Bitmap>(keyOf(prefix, deletions))
}

/** The live rows of a fragment; undefined if no row is deleted. */
export async function readLive(
  { content, cache }: ReadStorage,
  prefix: string,
  entry: FragmentLayout,
): Promise<Bitmap | undefined> {
  const { deletions, rows } = entry
  if (deletions === undefined) return undefined
  const path = pathIn(prefix, deletions.path)
  return cache.get(
    keyOf(prefix, deletions),
    (live) => live.byteLength + 256,
    async () => {
      const bytes = await readRange(content, path, deletions.bits)
      const live = noRows(rows)
      if (bytes.length < live.byteLength - 3) {
        throw brokenObject(path, `does not say of ${rows} rows which of them are deleted`)
      }
      const flags = new Uint8Array(live.buffer)
      flags.set(bytes.subarray(0, flags.length))
      for (let q = 0; q < live.length; q++) live[q] = ~live[q]!
      clearTrailing(live, rows)
      return live
    },
  )
}

/** Whether every row that is live now was live then. */
export function covers(then: Bitmap | undefined, now: Bitmap | undefined, rows: number): boolean {
  if (then === undefined) return true
  const there = now ?? allRows(rows)
  return there.every((word, i) => (word & ~then[i]!) === 0)
}

/**
 * Fragments without deletions, without some of their rows, which `deleted` counts over all of them. Omits empty ones.
 */
export async function withoutRows(
  storage: Storage,
  prefix: string,
  fragments: readonly FragmentEntry[],
  deleted: Bitmap,
): Promise<FragmentEntry[]> {
  const touched = new Map<FragmentEntry, Deleted>()
  const kept: FragmentEntry[] = []
  let start = 0
  for (const entry of fragments) {
    const { rows } = entry
    const part = partOf(deleted, start, rows)
    start += rows
    const count = countRows(part)
    if (count < rows) kept.push(entry)
    if (count > 0 && count < rows) touched.set(entry, { rows, deleted: part, count })
  }
  const { entries: deletions, written } = writeDeletions(storage, prefix, [...touched.values()])
  await written
  const entries = new Map(
    [...touched.keys()].map((entry, i) => [entry, { ...entry, deletions: deletions[i]! }]),
  )
  return kept.map((entry) => entries.get(entry) ?? entry)
}

/** The bits from `start` on, one for each row. */
function partOf(bitmap: Bitmap, start: number, rows: number): Bitmap {
  const part = noRows(rows)
  const first = start >>> 5
  const shift = start & 31
  for (let q = 0; q < part.length; q++) {
    const next = shift === 0 ? 0 : (bitmap[first + q + 1] ?? 0) << (32 - shift)
    part[q] = (bitmap[first + q]! >>> shift) | next
  }
  clearTrailing(part, rows)
  return part
}

import { type Bitmap, clearTrailing, countRows, noRows } from '../../arrow/bitmap.ts'
import { type Deleted, writeDeletions } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { Storage } from '../storage/objects.ts'

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

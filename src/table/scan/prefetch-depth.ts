import type { FragmentPlace } from '../format/manifest.ts'

export const fewestAhead = 2
/** Bytes to have begun to read at once. */
const aheadBytes = 32 << 20

/**
 * How many fragments to have begun with at once, of which so many bytes are read: two, so that one is read while
 * another is evaluated, and more of small ones. Of 10,000 of ten rows, for which to open files takes longest,
 * sixteen at once take half the time of two; ten columns of 4 MB from a disk are counted in 110 ms with eight, and
 * in 140 with two.
 */
export function fragmentsAhead(bytes: number): number {
  return Math.max(fewestAhead, Math.min(16, Math.floor(aheadBytes / Math.max(1, bytes))))
}

/** The bytes that are read of a fragment for some of its columns. */
export function bytesOf(entry: FragmentPlace, columns: readonly number[]): number {
  return columns.reduce((sum, index) => sum + entry.columns[index]![1], entry.batch[1])
}

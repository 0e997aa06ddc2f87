import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'

/** Most memory of a query that sorts: keys, and rows of the answer. */
export const maxSortedBytes = 512 << 20

/** Rows that are sorted at once if a comparison reads a few values. */
const maxAtOnce = 4_096
/** The total cost of these rows, in comparisons of two values. */
const costAtOnce = 32_768

/**
 * The numbers from 0 up to `length` in the order of a comparison with the given cost. Sorts pieces, and then merges
 * them, so that other work can continue meanwhile.
 */
export async function sortedRows(
  length: number,
  compare: (a: number, b: number) => number,
  cost: number,
  timeSlice: TimeSlice,
): Promise<Int32Array> {
  const atOnce = Math.max(16, Math.min(maxAtOnce, 2 ** Math.floor(Math.log2(costAtOnce / Math.max(1, cost)))))
  // Merging takes one comparison for each row, and sorting a dozen.
  const look = atOnce * 2 - 1
  let from = new Int32Array(length)
  for (let i = 0; i < length; i++) from[i] = i
  for (let at = 0; at < length; at += atOnce) {
    from.subarray(at, at + atOnce).sort(compare)
    if (timeSlice.due) await timeSlice.rest()
  }
  let to = new Int32Array(length)
  for (let size = atOnce; size < length; size *= 2) {
    for (let at = 0; at < length; at += size * 2) {
      const middle = Math.min(length, at + size)
      const end = Math.min(length, at + size * 2)
      let [left, right] = [at, middle]
      for (let next = at; next < end; next++) {
        const takesLeft = left < middle && (right >= end || compare(from[left]!, from[right]!) <= 0)
        to[next] = from[takesLeft ? left++ : right++]!
        if ((next & look) === 0 && timeSlice.due) await timeSlice.rest()
      }
    }
    ;[from, to] = [to, from]
  }
  return from
}

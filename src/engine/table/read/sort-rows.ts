import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'

/** Rows that are sorted at once where a comparison looks at a few values. */
const mostAtOnce = 4_096
/** What these rows may cost together, where a comparison of two values costs 1. */
const costAtOnce = 32_768

/**
 * The numbers from 0 up to `length` in the order of a comparison, which costs so much. They are sorted in pieces, which
 * are then merged, so that others go on meanwhile.
 */
export async function sortedRows(
  length: number,
  compare: (a: number, b: number) => number,
  cost: number,
  timeSlice: TimeSlice,
): Promise<Int32Array> {
  const atOnce = Math.max(
    16,
    Math.min(mostAtOnce, 2 ** Math.floor(Math.log2(costAtOnce / Math.max(1, cost)))),
  )
  // To merge rows takes one comparison each, where sorting takes a dozen.
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

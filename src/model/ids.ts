import { monotonicFactory } from 'ulid'

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** All pairs of digits, in order. */
const pairs = Array.from(digits, (first) => Array.from(digits, (second) => first + second)).flat()

/** Four digits at the end of an id are counted up. */
const counted = 4
const most = pairs.length ** 2 - 1

/**
 * Makes a source of ids that sort in the order they were made (ULIDs: 48 bits of time, 80 of chance), even
 * within a millisecond or when the clock goes back. Within a millisecond the last digits are counted up here: the
 * library builds strings character by character, which takes six times as long, and 300 bytes for each item of a
 * batch.
 */
export function idSource(now: () => number): () => string {
  const draw = monotonicFactory(chance)
  let time = 0
  let beginning: string | undefined
  let count = 0
  return () => {
    const moment = Math.floor(now())
    if (beginning !== undefined && !(moment > time) && count < most) {
      count++
      return beginning + pairs[count >>> 10]! + pairs[count & 1023]!
    }
    // Always a later time, so that chance is drawn anew and the library never counts.
    time = moment > time ? moment : time + 1
    const id = draw(time)
    beginning = id.slice(0, -counted)
    count = countOf(id.slice(-counted))
    return id
  }
}

const drawn = new Uint8Array(1024)
let used = drawn.length

/**
 * A fraction by chance, drawn from the system many at once: one at a time, the first id of a millisecond costs
 * 80 µs instead of 2.
 */
function chance(): number {
  if (used === drawn.length) {
    crypto.getRandomValues(drawn)
    used = 0
  }
  return drawn[used++]! / 256
}

function countOf(end: string): number {
  let count = 0
  for (const digit of end) count = count * digits.length + digits.indexOf(digit)
  return count
}

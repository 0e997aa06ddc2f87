import { monotonicFactory } from 'ulid'

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** All pairs of digits, in order. */
const pairs = Array.from(digits, (first) => Array.from(digits, (second) => first + second)).flat()

/** The number of digits of an id that count up. */
const counted = 4
const maxCount = pairs.length ** 2 - 1

/**
 * Makes a source of ids that sort in the order of their creation, even within a millisecond or when the clock goes
 * back. The ids are ULIDs: 48 bits of time and 80 random bits. Within a millisecond, this function counts up the last
 * digits itself. The library builds strings character by character, which takes six times as long and 300 bytes
 * for each item of a batch.
 */
export function idSource(now: () => number): () => string {
  const draw = monotonicFactory(randomFraction)
  let time = 0
  let beginning: string | undefined
  let count = 0
  return () => {
    const moment = Math.floor(now())
    if (beginning !== undefined && !(moment > time) && count < maxCount) {
      count++
      return beginning + pairs[count >>> 10]! + pairs[count & 1023]!
    }
    // Always a later time, so that the library draws new random bits and never counts itself.
    time = moment > time ? moment : time + 1
    const id = draw(time)
    beginning = id.slice(0, -counted)
    count = countOf(id.slice(-counted))
    return id
  }
}

/**
 * Makes a source of ids that cannot be guessed from other ids, not even of the same millisecond: the last 60 bits of each
 * are random. They are ULIDs as well. They sort in the order of their creation, since a store appends keys faster than it
 * inserts them: 20 bits count up within a millisecond.
 */
export function secretIdSource(now: () => number): () => string {
  let time = -1
  let count = maxCount
  return () => {
    const moment = Math.floor(now())
    if (moment > time || count === maxCount) {
      time = Math.max(moment || 0, time + 1)
      // The upper half is left to count in.
      count = ((randomByte() << 8) | randomByte()) << 3
    } else count++
    if (time !== writtenTime) writeTime(time)
    let i = timeDigits
    for (let shift = 5 * (counted - 1); shift >= 0; shift -= 5)
      codes[i++] = digits.charCodeAt((count >>> shift) & 31)
    while (i < codes.length) codes[i++] = digits.charCodeAt(randomByte() & 31)
    // In one call: a string that is concatenated keeps each of its parts in memory.
    return String.fromCharCode.apply(null, codes)
  }
}

/** The number of digits for the time of an id. */
const timeDigits = 10

/** The codes of the digits of an id: the time, and 16 digits of 5 bits each. All sources share it. */
const codes: number[] = Array.from({ length: timeDigits + 16 }, () => 0)
let writtenTime: number | undefined

function writeTime(moment: number): void {
  for (
    let rest = Math.max(0, moment), i = timeDigits - 1;
    i >= 0;
    i--, rest = Math.floor(rest / digits.length)
  )
    codes[i] = digits.charCodeAt(rest % digits.length)
  writtenTime = moment
}

const randomBytes = new Uint8Array(4096)
let used = randomBytes.length

/**
 * A random fraction. Random bytes come from the system in bulk: one at a time, the first id of a millisecond costs
 * 80 µs instead of 2.
 */
function randomFraction(): number {
  return randomByte() / 256
}

function randomByte(): number {
  if (used === randomBytes.length) {
    crypto.getRandomValues(randomBytes)
    used = 0
  }
  return randomBytes[used++]!
}

function countOf(end: string): number {
  let count = 0
  for (const digit of end) count = count * digits.length + digits.indexOf(digit)
  return count
}

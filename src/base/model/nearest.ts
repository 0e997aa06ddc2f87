/** The name that a given one is a typo of, ignoring case; undefined if there is none. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  return allNearest(name, names)[0]
}

/** Longer names are not repeated in an error. */
const longest = 255

/** A sentence that asks whether the nearest name was meant, with a space behind it; empty if there is none. */
export function didYouMean(name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  return near === undefined || near.length > longest ? '' : `Did you mean ${near}? `
}

/** The same with all others that are as similar. */
export function allNearest(name: string, names: readonly string[]): readonly string[] {
  const wanted = compared(name)
  const near = names
    .slice(0, 1_000)
    .map((one) => ({ one, distance: typoDistance(wanted, compared(one)) }))
    .filter(({ distance }) => distance !== undefined)
  const least = Math.min(...near.map(({ distance }) => distance!))
  return near.filter(({ distance }) => distance === least).map(({ one }) => one)
}

/** What is compared of a name, however long it is. */
const compared = (name: string) => name.toLowerCase().slice(0, 64)

/** The distance of a typo: two letters are swapped, or at most one letter in three is wrong. */
function typoDistance(typed: string, meant: string): number | undefined {
  const distance = editDistance(typed, meant)
  const letters = (text: string) => [...text].sort().join('')
  if (distance === 2 && letters(typed) === letters(meant)) return distance
  // Of two words of one letter, none is the other's typo.
  if (distance >= typed.length) return undefined
  return distance <= Math.max(1, Math.floor(Math.min(typed.length, meant.length) / 3)) ? distance : undefined
}

/** The Levenshtein distance: how many characters to insert, remove or replace to turn one text into the other. */
export function editDistance(a: string, b: string): number {
  const distance = new EditDistance(a, b)
  distance.advance(Number.POSITIVE_INFINITY)
  return distance.result
}

/**
 * The same in steps: columns of 32 rows at once, as bits for where the distance rises and falls. Source: Myers, "A fast
 * bit-vector algorithm for approximate string matching", 1999; Hyyrö 2003 for several words.
 */
export class EditDistance {
  /** The distance, once there is nothing more to advance. */
  result: number
  readonly #columns: readonly string[]
  #column = 0
  readonly #words: number
  /** The bit of the last row in the last word. */
  readonly #last: number
  /** The rows of each character, as bits. */
  readonly #positions = new Map<string, Int32Array>()
  readonly #rises: Int32Array
  readonly #falls: Int32Array
  readonly #none: Int32Array

  constructor(a: string, b: string) {
    // The shorter text gives the rows, which take memory.
    const [rows, columns] = [Array.from(a), Array.from(b)].sort((x, y) => x.length - y.length) as [
      string[],
      string[],
    ]
    const words = (rows.length + 31) >>> 5
    this.#columns = rows.length === 0 ? [] : columns
    this.#words = words
    this.#last = (rows.length - 1) & 31
    this.#rises = new Int32Array(words).fill(-1)
    this.#falls = new Int32Array(words)
    this.#none = new Int32Array(words)
    this.result = rows.length === 0 ? columns.length : rows.length
    for (const [i, char] of rows.entries()) {
      const bits = this.#positions.get(char) ?? new Int32Array(words)
      bits[i >>> 5]! |= 1 << (i & 31)
      this.#positions.set(char, bits)
    }
  }

  /** Processes about `words` more words of 32 rows. Returns how many it processed: 0 at the end. */
  advance(words: number): number {
    const from = this.#column
    const end = Math.min(this.#columns.length, from + Math.max(1, Math.floor(words / this.#words)))
    const [rises, falls, count, last] = [this.#rises, this.#falls, this.#words, this.#last]
    let distance = this.result
    for (let column = from; column < end; column++) {
      const bits = this.#positions.get(this.#columns[column]!) ?? this.#none
      // The carry from the row above: there, each column is one more than the column before.
      let carry = 1
      for (let w = 0; w < count; w++) {
        const up = rises[w]!
        const down = falls[w]!
        const equal = bits[w]! | (carry >>> 31)
        const vertical = bits[w]! | down
        const horizontal = (((equal & up) + up) ^ up) | equal
        const more = down | ~(horizontal | up)
        const less = up & horizontal
        const shift = w === count - 1 ? last : 31
        const next = ((more >>> shift) & 1) - ((less >>> shift) & 1)
        const moreBelow = (more << 1) | +(carry > 0)
        const lessBelow = (less << 1) | (carry >>> 31)
        rises[w] = lessBelow | ~(vertical | moreBelow)
        falls[w] = moreBelow & vertical
        carry = next
      }
      distance += carry
    }
    this.result = distance
    this.#column = end
    return (end - from) * count
  }
}

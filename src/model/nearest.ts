/** The name most like a given one, letters' case aside; undefined when none is at all like it. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const wanted = name.toLowerCase().slice(0, 64)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 2)) + 1
  for (const candidate of names.slice(0, 1_000)) {
    const distance = editDistance(wanted, candidate.toLowerCase().slice(0, 64))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/**
 * How many characters must be inserted, removed or replaced to make one text of the other (Levenshtein): columns of 32
 * rows at once, as bits that tell where the distance rises and falls.
 * Source: Myers, "A fast bit-vector algorithm for approximate string matching", 1999; Hyyrö 2003 for several words.
 */
export function editDistance(a: string, b: string): number {
  // The shorter text gives the rows, which take memory.
  const [rows, columns] = [Array.from(a), Array.from(b)].sort((x, y) => x.length - y.length) as [
    string[],
    string[],
  ]
  if (rows.length === 0) return columns.length
  const words = (rows.length + 31) >>> 5
  const places = new Map<string, Int32Array>()
  for (const [i, char] of rows.entries()) {
    const bits = places.get(char) ?? new Int32Array(words)
    bits[i >>> 5]! |= 1 << (i & 31)
    places.set(char, bits)
  }
  const rises = new Int32Array(words).fill(-1)
  const falls = new Int32Array(words)
  const none = new Int32Array(words)
  const last = (rows.length - 1) & 31
  let distance = rows.length
  for (const char of columns) {
    const bits = places.get(char) ?? none
    // What comes from the row above: there, each column is one more than the column before.
    let carry = 1
    for (let w = 0; w < words; w++) {
      const up = rises[w]!
      const down = falls[w]!
      const equal = bits[w]! | (carry >>> 31)
      const vertical = bits[w]! | down
      const horizontal = (((equal & up) + up) ^ up) | equal
      const more = down | ~(horizontal | up)
      const less = up & horizontal
      const shift = w === words - 1 ? last : 31
      const next = ((more >>> shift) & 1) - ((less >>> shift) & 1)
      const moreBelow = (more << 1) | +(carry > 0)
      const lessBelow = (less << 1) | (carry >>> 31)
      rises[w] = lessBelow | ~(vertical | moreBelow)
      falls[w] = moreBelow & vertical
      carry = next
    }
    distance += carry
  }
  return distance
}

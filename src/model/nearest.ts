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

/** How many characters must be inserted, removed or replaced to make one text of the other (Levenshtein). */
export function editDistance(a: string, b: string): number {
  const left = Array.from(a)
  const right = Array.from(b)
  let previous = Array.from({ length: right.length + 1 }, (_, i) => i)
  for (const [i, char] of left.entries()) {
    const row = [i + 1]
    for (const [j, other] of right.entries()) {
      const replaced = previous[j]! + (char === other ? 0 : 1)
      row.push(Math.min(replaced, previous[j + 1]! + 1, row[j]! + 1))
    }
    previous = row
  }
  return previous[right.length]!
}

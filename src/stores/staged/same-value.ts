/**
 * Whether two plain values are equal. A store that keeps objects returns the same object until it is replaced, so most
 * comparisons end at once.
 */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) return isSameList(a, b)
  const one = a as Members
  const other = b as Members
  let members = 0
  for (const name in one) {
    if (one[name] === undefined) continue
    members++
    if (!isSameValue(one[name], other[name])) return false
  }
  for (const name in other) if (other[name] !== undefined) members--
  return members === 0
}

type Members = Readonly<Record<string, unknown>>

function isSameList(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
  return a.every((item, i) => isSameValue(item, b[i]))
}

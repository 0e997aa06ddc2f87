/**
 * An answer that is the caller's own to change: what it shares with the records of a store in memory, or with later
 * answers, is copied. Bytes and tables of Arrow are made for each answer.
 */
export function ownAnswer(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return isPlain(value[0]) ? value.slice() : value.map(ownAnswer)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const own: Record<string, unknown> = { ...value }
  for (const name in own) {
    const member = own[name]
    if (!isPlain(member)) own[name] = ownAnswer(member)
  }
  return own
}

/** Lists hold values of one kind each. */
function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** Whether two values are deeply equal and of the same types. For data without cycles. */
export function isDeepStrictEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  if (a instanceof Date) return Object.is(a.getTime(), (b as Date).getTime())
  if (a instanceof Set || a instanceof Map) {
    // Members of sets and keys of maps are compared by identity, not deeply.
    const others = b as Map<unknown, unknown>
    if (a.size !== others.size) return false
    if (a instanceof Set) return Array.from(a).every((member) => others.has(member))
    return Array.from(a).every(([key, value]) => others.has(key) && isDeepStrictEqual(value, others.get(key)))
  }
  if (a instanceof ArrayBuffer) {
    return isDeepStrictEqual(new Uint8Array(a), new Uint8Array(b as ArrayBuffer))
  }
  if (a instanceof Error && !(a.message === (b as Error).message && a.name === (b as Error).name)) {
    return false
  }
  const keys = ownKeys(a)
  return (
    keys.length === ownKeys(b).length &&
    (!Array.isArray(a) || a.length === (b as unknown[]).length) &&
    keys.every((key) => Object.hasOwn(b, key) && isDeepStrictEqual(Reflect.get(a, key), Reflect.get(b, key)))
  )
}

function ownKeys(value: object): PropertyKey[] {
  const symbols = Object.getOwnPropertySymbols(value)
  return [
    ...Object.keys(value),
    ...symbols.filter((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol)),
  ]
}

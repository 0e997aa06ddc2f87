/**
 * A frozen copy of a plain value that shares what is frozen already, so that neither who put a value nor who
 * reads it can change it afterwards. The caller's own objects are left as they are. Members that are
 * undefined are dropped, as JSON drops them.
 */
export function protect<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  return (Array.isArray(value) ? protectArray(value) : protectRecord(value as Members)) as T
}

type Members = Record<string, unknown>

function protectArray(items: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined = Object.isFrozen(items) ? undefined : items.slice()
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    const kept = protect(item)
    if (kept === item) continue
    copy ??= items.slice()
    copy[i] = kept
  }
  return copy ? Object.freeze(copy) : items
}

function protectRecord(members: Members): Members {
  let copy: Members | undefined = Object.isFrozen(members) ? undefined : { ...members }
  for (const name of Object.keys(members)) {
    const member = members[name]
    if (member === undefined) {
      copy ??= { ...members }
      delete copy[name]
      continue
    }
    if (typeof member !== 'object') continue
    const kept = protect(member)
    if (kept === member) continue
    copy ??= { ...members }
    // The copy has a member of this name, so that even `__proto__` is assigned like any other.
    copy[name] = kept
  }
  return copy ? Object.freeze(copy) : members
}

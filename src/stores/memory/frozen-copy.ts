/**
 * A frozen copy of a plain value, which shares frozen parts. So neither writers nor readers can change it later, and
 * the caller's own objects stay unfrozen. As in JSON, the copy has no undefined members.
 */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  return (Array.isArray(value) ? frozenArray(value) : frozenRecord(value as Members)) as T
}

type Members = Record<string, unknown>

function frozenArray(items: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined = Object.isFrozen(items) ? undefined : items.slice()
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    const kept = frozenCopy(item)
    if (kept === item) continue
    copy ??= items.slice()
    copy[i] = kept
  }
  return copy ? Object.freeze(copy) : items
}

function frozenRecord(members: Members): Members {
  let copy: Members | undefined = Object.isFrozen(members) ? undefined : copyOf(members)
  // Not by `Object.keys`, which makes a list of the names.
  for (const name in members) {
    const member = members[name]
    if (member === undefined) {
      copy ??= copyOf(members)
      delete copy[name]
      continue
    }
    if (typeof member !== 'object') continue
    const kept = frozenCopy(member)
    if (kept === member) continue
    copy ??= copyOf(members)
    // The copy has an own member of this name, so that even `__proto__` is assigned like any other.
    copy[name] = kept
  }
  return copy ? Object.freeze(copy) : members
}

/**
 * A copy of the same members. V8 gives each spread copy that is frozen then a shape of its own: the copy took four times
 * as long, and all who read such records were slower. A spread copy alone has an own member `__proto__`.
 */
function copyOf(members: Members): Members {
  return Object.hasOwn(members, '__proto__') ? { ...members } : Object.assign({}, members)
}

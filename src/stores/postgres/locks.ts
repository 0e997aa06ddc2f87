import { type Changes, isAppended } from './access.ts'
import { isNumbered } from './key-bytes.ts'
import type { Reads } from './view.ts'

/** The most records that a commit locks one by one. The database has some thousand locks, for all of its users. */
export const maxLocks = 512

/** The locks of records: two numbers name each. All commits take them in the same order, which avoids deadlocks. */
export interface Locks {
  readonly names: readonly (readonly [number, number])[]
  /** Whether the record is changed, and not only read. */
  readonly areExclusive: readonly boolean[]
  /** The bytes of the keys, and whether each may be changed. */
  readonly keys: ReadonlyMap<string, boolean>
}

/**
 * The locks of all records that a commit reads and changes. Undefined when it needs the exclusive lock: it read a
 * range, where new records have no locks yet, or too many records, or a record that the database may number.
 */
export function locksOf(schema: string, { points, pieces }: Reads, changes: Changes): Locks | undefined {
  if (pieces.size > 0 || points.size > maxLocks) return undefined
  const keys = new Map<string, boolean>()
  for (const point of points.keys()) keys.set(point, false)
  for (const [bytes] of changes.entries()) if (!isAppended(bytes)) keys.set(bytes, true)
  if (keys.size > maxLocks) return undefined
  const seed = hash(schema, 0)
  const named: (readonly [first: number, second: number, isExclusive: boolean])[] = []
  for (const [bytes, isExclusive] of keys) {
    if (isNumbered(bytes)) return undefined
    named.push([hash(bytes, seed), hash(bytes, ~seed), isExclusive])
  }
  // Of two keys with the same name, the stronger lock comes first.
  named.sort((a, b) => a[0] - b[0] || a[1] - b[1] || Number(b[2]) - Number(a[2]))
  return { names: named.map(([a, b]) => [a, b]), areExclusive: named.map(([, , is]) => is), keys }
}

/** Whether the held locks suffice for a commit. */
export function areEnough({ keys }: Locks, { points, pieces }: Reads, changes: Changes): boolean {
  if (pieces.size > 0) return false
  for (const point of points.keys()) if (!keys.has(point)) return false
  for (const [bytes] of changes.entries()) if (!isAppended(bytes) && keys.get(bytes) !== true) return false
  return true
}

/** 32 bits of MurmurHash3, over one character at a time. */
function hash(text: string, seed: number): number {
  let h = seed
  for (let i = 0; i < text.length; i++) {
    const k = Math.imul(text.charCodeAt(i), 0xcc9e2d51)
    h ^= Math.imul((k << 15) | (k >>> 17), 0x1b873593)
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
  }
  h ^= text.length
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

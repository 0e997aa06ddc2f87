import { beginsWith, checkedKey, compareKeys } from './key.ts'
import type { Key, Range } from './store.ts'

/**
 * A position between keys: right before `key`, right after it (and before its extensions), or beyond it and
 * all its extensions.
 */
export interface Cut {
  readonly key: Key
  readonly side: 'before' | 'after' | 'beyond'
}

/** The meaning of a {@link Range}: the entries between two cuts, and how to walk them. No cut means no bound. */
export interface Span {
  readonly lower: Cut | undefined
  readonly upper: Cut | undefined
  readonly limit: number
  readonly reverse: boolean
  /** The checked prefix of all keys between the cuts. */
  readonly prefix?: Key | undefined
}

/** Whether `key` is below `cut`. */
export function isBelow(key: Key, cut: Cut): boolean {
  const order = compareKeys(key, cut.key)
  if (order < 0) return true
  if (cut.side === 'before') return false
  return order === 0 || (cut.side === 'beyond' && beginsWith(key, cut.key))
}

/**
 * The span that a store walks for a range; undefined when the range cannot contain a key. The keys are checked by
 * {@link checkedKey}, except that the prefix, start and end may be empty.
 */
export function spanOf(range: Range): Span | undefined {
  const { limit = Number.POSITIVE_INFINITY, reverse = false } = range
  const prefix = bound(range.prefix)
  const start = bound(range.start)
  const end = bound(range.end)
  // Nothing comes before the empty key.
  if (!(limit > 0) || range.end?.length === 0) return undefined

  let lower: Cut | undefined = start && { key: start, side: 'before' }
  let upper: Cut | undefined = end && { key: end, side: 'before' }
  if (prefix) {
    if (!start || compareKeys(start, prefix) <= 0) lower = { key: prefix, side: 'after' }
    if (end && compareKeys(end, prefix) <= 0) return undefined
    if (!end || !beginsWith(end, prefix)) upper = { key: prefix, side: 'beyond' }
  }
  return { lower, upper, limit, reverse, prefix }
}

function bound(key: Key | undefined): Key | undefined {
  return key === undefined || key.length === 0 ? undefined : checkedKey(key)
}

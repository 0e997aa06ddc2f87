/** How far the clock of a content may be behind that of the store. A file system's own is some milliseconds behind. */
const clockSlack = 60_000

/**
 * Returns a test for the dates of objects that are older than a grace period. Where that is zero, all are: an object may
 * bear the moment of the look, or a later one.
 */
export function olderThan(graceMillis: number, now: number): (modified: number) => boolean {
  if (graceMillis === 0) return () => true
  return (modified) => modified < now - graceMillis
}

/** Whether an object may have been written at a moment of the store, or since. */
export function mayBeSince(modified: number, moment: number): boolean {
  return modified + clockSlack >= moment
}

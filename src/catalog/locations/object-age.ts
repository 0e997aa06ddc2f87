/** How far the clock of a content may be behind that of the store. A file system's own is some milliseconds behind. */
const clockSlack = 60_000

/**
 * Returns a test for the dates of objects that are older than a grace period. With zero, all are: the date of an object
 * may equal the time of the listing, or be later.
 */
export function olderThan(graceMillis: number, now: number): (modified: number) => boolean {
  if (graceMillis === 0) return () => true
  return (modified) => modified < now - graceMillis
}

/** Whether an object may have been written at a moment of the store, or since. */
export function mayBeSince(modified: number, moment: number): boolean {
  return modified + clockSlack >= moment
}

import { monotonicFactory } from 'ulid'

/**
 * Makes a source of ids that sort in the order they were made (ULIDs: 48 bits of time, 80 of chance), even
 * within a millisecond or when the clock goes back.
 */
export function idSource(now: () => number): () => string {
  const next = monotonicFactory()
  return () => next(now())
}

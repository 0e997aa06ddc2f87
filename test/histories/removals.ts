import { overlap, type State, walk } from './model/state.ts'

/**
 * The locations whose dropped tables' content may still be there, each with the moment at which it is gone at the
 * latest. Who drops a table hears of it when its content is removed, so that is when the call ended. Content that
 * clones need stays: then it is infinity.
 */
export type Removals = ReadonlyMap<string, number>

/** The removals after a call that ended at `end`. What is dropped has left the names, and does not wait either. */
export function removalsAfter(before: State, after: State, removals: Removals, end: number): Removals {
  if (before === after) return removals
  const held = locationsOf(after)
  // A table that got a location shows that this is empty.
  const left = [...removals].filter(([location]) => !held.some((at) => overlap(at, location)))
  const dropped = locationsOf(before).filter((location) => !held.includes(location))
  const shared = [...before.shares.values()].flat()
  return new Map([
    ...left,
    ...dropped.map((at) => [at, shared.includes(at) ? Number.POSITIVE_INFINITY : end] as const),
  ])
}

/** The locations whose removal may be under way at some moment from `now` on. */
export function removingSince(removals: Removals, now: number): string[] {
  return [...removals].flatMap(([location, until]) => (until >= now ? [location] : []))
}

/** Those that outlast every call so far. */
export function outlasting(removals: Removals): Removals {
  return new Map([...removals].filter(([, until]) => until === Number.POSITIVE_INFINITY))
}

function locationsOf({ root, deregistered }: State): string[] {
  const tables = Array.from(walk(root, []), ([, found]) => (found.kind === 'table' ? [found.location] : []))
  return [...tables.flat(), ...deregistered.keys()]
}

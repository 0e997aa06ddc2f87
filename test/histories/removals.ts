import { overlap, type State, walk } from './model/state.ts'

/**
 * The locations that may still have content of dropped tables, each with the latest time of its removal. A drop returns
 * after the removal, so that is the end of the call. It is infinity for content that clones need.
 */
export type Removals = ReadonlyMap<string, number>

/** The removals after a call that ended at `end`: locations that are neither of a table nor wait for a registration. */
export function removalsAfter(before: State, after: State, removals: Removals, end: number): Removals {
  if (before === after) return removals
  const held = locationsOf(after)
  // A new table at a location proves that it is empty.
  const left = [...removals].filter(([location]) => !held.some((at) => overlap(at, location)))
  const dropped = locationsOf(before).filter((location) => !held.includes(location))
  const shared = [...before.shares.values()].flat()
  return new Map([
    ...left,
    ...dropped.map((at) => [at, shared.includes(at) ? Number.POSITIVE_INFINITY : end] as const),
  ])
}

/** The locations whose removal may run at or after `now`. */
export function removingSince(removals: Removals, now: number): string[] {
  return [...removals].flatMap(([location, until]) => (until >= now ? [location] : []))
}

/** The locations that keep content for clones. */
export function outlasting(removals: Removals): Removals {
  return new Map([...removals].filter(([, until]) => until === Number.POSITIVE_INFINITY))
}

function locationsOf({ root, deregistered }: State): string[] {
  const tables = Array.from(walk(root, []), ([, found]) => (found.kind === 'table' ? [found.location] : []))
  return [...tables.flat(), ...deregistered.keys()]
}

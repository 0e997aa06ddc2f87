/**
 * Facts that distinguish the location of a store's records from that of any copy of them, by name. Unknown facts are
 * left out.
 */
export type StoreHome = Readonly<Record<string, string>>

/** The names of the facts that differ between two locations. A fact that is missing in one of them does not count. */
export function differingParts(was: StoreHome, is: StoreHome): readonly string[] {
  return Object.keys(was).filter((fact) => is[fact] !== undefined && is[fact] !== was[fact])
}

/**
 * Whether records that were written at one location are at another one now. A store without a known location holds no
 * records of a store with one.
 */
export function isOtherHome(was: StoreHome | undefined, is: StoreHome | undefined): boolean {
  if (was === undefined) return false
  return is === undefined || differingParts(was, is).length > 0
}

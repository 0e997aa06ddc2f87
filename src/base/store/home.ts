/**
 * What tells the place of a store's records from every other place that a copy of them may lie in: facts by their names.
 * Facts that are not known are left out.
 */
export type StoreHome = Readonly<Record<string, string>>

/** The facts that differ between where records were and where they are; a fact that one of both lacks tells nothing. */
export function differingFacts(was: StoreHome, is: StoreHome): readonly string[] {
  return Object.keys(was).filter((fact) => is[fact] !== undefined && is[fact] !== was[fact])
}

/**
 * Whether records that were written at one place lie at another one now. A store that cannot tell its place holds none
 * of the records of one that can.
 */
export function isElsewhere(was: StoreHome | undefined, is: StoreHome | undefined): boolean {
  if (was === undefined) return false
  return is === undefined || differingFacts(was, is).length > 0
}

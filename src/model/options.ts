import { invalid } from '../errors.ts'

/** The names of all options of a type, which the compiler keeps complete. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true }

/**
 * Refuses options that are not among the members of `known`: one that is spelled wrong, a hook that guards even,
 * would go unheard.
 */
export function requireKnown(of: string, given: object, known: object): void {
  const unknown = Object.entries(given).filter(
    ([name, value]) => value !== undefined && !Object.hasOwn(known, name),
  )
  if (unknown.length === 0) return
  const names = unknown.map(([name]) => name).join(', ')
  throw invalid(`${of} has no option ${names}. Those it has are ${Object.keys(known).join(', ')}.`)
}

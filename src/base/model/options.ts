import { invalid } from '../errors.ts'

/** The names of all options of a type. The compiler checks that none is missing. Symbols are no names. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options> & string]: true }

/**
 * Refuses options that are not members of `known`. Otherwise a misspelled option, perhaps one that guards access, would
 * have no effect.
 */
export function requireKnown(of: string, given: object, known: object): void {
  if (typeof given !== 'object' || given === null)
    throw invalid(`${of} needs its options: an object with some of ${Object.keys(known).join(', ')}.`)
  const unknown = Object.entries(given).filter(
    ([name, value]) => value !== undefined && !Object.hasOwn(known, name),
  )
  if (unknown.length === 0) return
  const names = unknown.map(([name]) => name).join(', ')
  throw invalid(`${of} has no option ${names}. Its options are ${Object.keys(known).join(', ')}.`)
}

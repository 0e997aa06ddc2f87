import { invalid } from '../errors.ts'
import { didYouMean } from './nearest.ts'

/** The names of all options of a type. The compiler checks that none is missing. Symbols are no names. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options> & string]: true }

/**
 * Refuses options that are not members of `known`. Otherwise a misspelled option, perhaps one that guards access, would
 * have no effect.
 */
export function requireKnown(of: string, given: object, known: object): void {
  if (!isObject(given))
    throw invalid(`${of} needs its options: an object with some of ${Object.keys(known).join(', ')}.`)
  const unknown = Object.entries(given).filter(
    ([name, value]) => value !== undefined && !Object.hasOwn(known, name),
  )
  if (unknown.length === 0) return
  const names = unknown.map(([name]) => name)
  const options = Object.keys(known)
  const hint = didYouMean(names[0]!, options)
  throw invalid(`${of} has no option ${names.join(', ')}. ${hint}Its options are ${options.join(', ')}.`)
}

/** Checks the value of an option. Returns what would be right, or throws an error of its own. */
type Check = (given: unknown) => string | undefined

/** A check for each option of a type. The compiler checks that none is missing. */
export type OptionChecks<Options> = { readonly [Name in keyof Required<Options> & string]: Check }

/** Refuses options that do not exist, and values that an option does not take. `prefix` leads to options of options. */
export function checkOptions(of: string, given: object, checks: OptionChecks<object>, prefix = ''): void {
  requireKnown(of, given, checks)
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const right = (checks as Readonly<Record<string, Check>>)[name]!(value)
    if (right !== undefined) throw invalid(`The option ${prefix}${name} is ${shown(value)}. Give ${right}.`)
  }
}

/** Whether a value is an object with options in it. */
export function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/* Checks that several options share. */

export const aFunction: Check = (given) => (typeof given === 'function' ? undefined : 'a function')

export const aBoolean: Check = (given) => (typeof given === 'boolean' ? undefined : 'true or false')

/** Text that is not empty. `what` says which. */
export const text =
  (what: string): Check =>
  (given) =>
    typeof given === 'string' && given !== '' ? undefined : what

export const oneOf =
  (...words: readonly string[]): Check =>
  (given) =>
    words.includes(given as string) ? undefined : words.map((word) => `'${word}'`).join(' or ')

/** A whole number from `least` to `most`. */
export const whole =
  (least: number, most = Number.MAX_SAFE_INTEGER): Check =>
  (given) =>
    Number.isSafeInteger(given) && (given as number) >= least && (given as number) <= most
      ? undefined
      : `a whole number${inRange(least, most)}`

/** A number of `unit` from 0 to `most`. */
export const amount =
  (unit: string, most: number): Check =>
  (given) =>
    typeof given === 'number' && given >= 0 && given <= most
      ? undefined
      : `a number of ${unit}${inRange(0, most)}`

function inRange(least: number, most: number): string {
  const from = least > Number.MIN_SAFE_INTEGER ? ` from ${least.toLocaleString('en')}` : ''
  return most < Number.MAX_SAFE_INTEGER ? `${from} to ${most.toLocaleString('en')}` : from
}

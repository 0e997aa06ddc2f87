import { CatalogError } from '../../../base/errors.ts'
import type { FastPath } from '../evaluate/build.ts'
import { buckets } from './buckets.ts'
import { booleans, compareNumbers, wideIntegers } from './compare.ts'
import { dictionary } from './dictionary.ts'
import { formulas } from './formula.ts'
import { listHas } from './list-has.ts'
import { numberSets } from './number-sets.ts'
import { numbers } from './numbers.ts'
import { stepTables } from './steps.ts'
import { textLength } from './text-length.ts'
import { letters, texts } from './texts.ts'

/**
 * All fast paths, in order of priority: the planner of nodes asks each of them for each part of a plan, and the first
 * that answers hands what it does not support to the next. Each returns the same results as the evaluator without it.
 */
export const allFastPaths: readonly FastPath[] = [
  // Paths after it are used for the entries of a dictionary.
  dictionary,
  // A function and its comparison in one test.
  letters,
  buckets,
  formulas,
  // Tests of values in arrays.
  compareNumbers,
  numberSets,
  wideIntegers,
  booleans,
  texts,
  // Values in arrays.
  stepTables,
  textLength,
  numbers,
  listHas,
]

/** The fast paths that a setting leaves on: none for `off`, those in a list of names, and all without a setting. */
export function chosenFastPaths(setting: string | undefined): readonly FastPath[] {
  if (setting === undefined || setting === '') return allFastPaths
  if (setting === 'off') return []
  const names = setting.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !allFastPaths.some((path) => path.name === name))
  if (unknown === undefined) return allFastPaths.filter((path) => names.includes(path.name))
  const known = allFastPaths.map((path) => path.name).join(', ')
  throw new CatalogError(
    'InvalidInput',
    `TABULARIUM_FAST_PATHS names ${JSON.stringify(unknown)}, which is no fast path. ` +
      `Write off, or some of ${known} with commas between them.`,
  )
}

/** The fast paths in use. Switch them off to find out whether one of them is wrong. */
export const fastPaths = chosenFastPaths(process.env['TABULARIUM_FAST_PATHS'])

import { CatalogError } from '../../../base/errors.ts'
import type { Kernel } from '../evaluate/build.ts'
import { stepTest } from './buckets.ts'
import { comparison } from './compare.ts'
import { dictionaryCall, dictionaryTest } from './dictionary.ts'
import { formulaTest, formulaValues } from './formula.ts'
import { listHasValues, listItemValues } from './lists.ts'
import { numberValues } from './numbers.ts'
import { numberSetTest } from './sets.ts'
import { stepValues } from './steps.ts'
import { lettersTest, textLengths, textTest } from './texts.ts'

/**
 * All kernels. For each part of a plan, the builder of nodes takes the first one that supports it, so the order is one of
 * priority: kernels that do more at once come first. If the values of a slice have another layout than it supports, the
 * next one is asked, and finally the plain evaluator. All of them return the same results as that.
 *
 * A kernel has up to three functions. `test` replaces a whole boolean expression, `vectorTest` the test of values that
 * other kernels computed, and `value` computes values.
 */
export const kernels: readonly Kernel[] = [
  {
    name: 'dictionary',
    chosenFor: 'tests and calls of an encoded column, once for each entry; the entries use the kernels below',
    example: "encoded IN ('c1', 'c7')",
    plans: ['compare', 'in', 'like', 'call'],
    vectorTest: dictionaryTest,
    value: dictionaryCall,
  },
  {
    name: 'letters',
    chosenFor: 'lower and upper beside a literal, in one pass over the bytes',
    example: "lower(name) = 'c3'",
    plans: ['compare'],
    test: lettersTest,
  },
  {
    name: 'steps',
    chosenFor: 'functions of a time that are constant within a step, such as a day, from a table of steps',
    example: "date_part('month', time) = 12",
    plans: ['compare', 'in', 'call'],
    test: stepTest,
    value: stepValues,
  },
  {
    name: 'formula',
    chosenFor: 'arithmetic, functions of doubles and widening casts, with their comparison in one loop',
    example: 'abs(x - 0.5) * 2 < 0.01',
    plans: ['compare', 'arithmetic', 'negate', 'cast', 'call'],
    test: formulaTest,
    value: formulaValues,
  },
  {
    name: 'compare',
    chosenFor: 'comparisons of numbers, times, decimals and booleans, with a literal or each other',
    example: 'a > 500',
    plans: ['compare'],
    vectorTest: comparison,
  },
  {
    name: 'number-set',
    chosenFor: 'IN a list of numbers or times',
    example: 'a IN (1, 5, 9)',
    plans: ['in'],
    vectorTest: numberSetTest,
  },
  {
    name: 'text',
    chosenFor: 'comparisons, IN and LIKE of texts and bytes in place, without a string for a row',
    example: "name LIKE 'user_99%'",
    plans: ['compare', 'in', 'like'],
    vectorTest: textTest,
  },
  {
    name: 'text-length',
    chosenFor: 'length and octet_length, from the offsets of texts',
    example: 'length(name) < 12',
    plans: ['call'],
    value: textLengths,
  },
  {
    name: 'list-has',
    chosenFor: 'array_has with a literal, which compares the items of all lists at once',
    example: 'array_has(tags, 7)',
    plans: ['call'],
    value: listHasValues,
  },
  {
    name: 'list-items',
    chosenFor: 'an item or the length of a list, without a list for each row',
    example: 'tags[1] = 7',
    plans: ['call'],
    value: listItemValues,
  },
  {
    name: 'numbers',
    chosenFor: 'all other functions, casts and divisions that are given for plain numbers (`ofNumbers`)',
    example: "date_part('minute', time) = 12",
    plans: ['call', 'cast', 'arithmetic'],
    value: numberValues,
  },
]

/** The kernels that a setting leaves on: none for `off`, those in a list of names, and all without a setting. */
export function chosenKernels(setting: string | undefined): readonly Kernel[] {
  if (setting === undefined || setting === '') return kernels
  if (setting === 'off') return []
  const names = setting.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !kernels.some((kernel) => kernel.name === name))
  if (unknown === undefined) return kernels.filter((kernel) => names.includes(kernel.name))
  const known = kernels.map((kernel) => kernel.name).join(', ')
  throw new CatalogError(
    'InvalidInput',
    `TABULARIUM_KERNELS names ${JSON.stringify(unknown)}, which is no kernel. ` +
      `Write off, or some of ${known} with commas between them.`,
  )
}

/** The kernels in use. Switch them off to find out whether one of them is wrong. */
export const kernelsInUse = chosenKernels(process.env['TABULARIUM_KERNELS'])

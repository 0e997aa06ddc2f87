import * as v from 'valibot'
import { either } from './fields.ts'

/*
 * Vectors in requests. They may have a million numbers in all, so one loop checks a whole list.
 */

const problem = 'must be a list of finite numbers, or a list of such lists'

const numbers = checkedAtOnce(v.array(v.number(problem), problem))
const lists = v.array(numbers, problem)

const vectorObject = v.object(
  { single_vector: v.nullish(numbers), multi_vector: v.nullish(lists) },
  'must be a list of numbers, a list of such lists, { single_vector: [...] } or { multi_vector: [[...]] }',
)

/** The vector to search for, or several. */
export const vectorInput = either([numbers, lists, vectorObject], (given) =>
  Array.isArray(given) ? (Array.isArray(given[0]) ? lists : numbers) : vectorObject,
)

type NumberArray = v.ArraySchema<v.NumberSchema<string>, string>

function checkedAtOnce(schema: NumberArray): NumberArray {
  const run: NumberArray['~run'] = (dataset, config) => {
    const list: unknown = dataset.value
    if (!Array.isArray(list)) return schema['~run'](dataset, config)
    const wrong = list.findIndex((item) => !Number.isFinite(item))
    if (wrong < 0) return { typed: true, value: list as number[] }
    // The given value as a text could be very long, or too deep to convert.
    const received = typeof list[wrong] === 'number' ? String(list[wrong]) : typeof list[wrong]
    const message = `has ${received} as its component ${wrong}; give finite numbers`
    const issue = {
      kind: 'schema',
      type: 'number',
      input: list,
      expected: 'number',
      received,
      message,
    } as const
    return { typed: false, value: list, issues: [issue] } as never
  }
  return { ...schema, '~run': run }
}

/** The vectors of a request, in one list. Clients without a search send an empty vector, or an object of empty ones. */
export function vectorsOf(given: v.InferOutput<typeof vectorInput> | null | undefined): {
  readonly vectors: readonly (readonly number[])[]
  readonly hasBoth: boolean
} {
  if (given === undefined || given === null) return { vectors: [], hasBoth: false }
  if (Array.isArray(given)) {
    const isList = Array.isArray(given[0])
    return {
      vectors: isList ? (given as number[][]) : given.length > 0 ? [given as number[]] : [],
      hasBoth: false,
    }
  }
  const { single_vector, multi_vector } = given as v.InferOutput<typeof vectorObject>
  const single = single_vector?.length ? [single_vector] : []
  const several = multi_vector ?? []
  return { vectors: [...single, ...several], hasBoth: single.length > 0 && several.length > 0 }
}

import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import { filledText, flag, text } from '../../base/model/fields.ts'
import { vectorInput, vectorsOf } from '../../base/model/vector.ts'
import type { VectorSearch } from '../../engine/table/index.ts'

const distance = v.pipe(
  v.number('must be a number'),
  v.check((given) => !Number.isNaN(given), 'must be a number'),
)

const measures = { l2: 'l2', euclidean: 'l2', cosine: 'cosine', dot: 'dot', hamming: 'hamming' } as const

/** How distances are measured, in any case. */
export const distanceType = v.pipe(
  text,
  v.transform((given) => given.toLowerCase()),
  v.picklist(Object.keys(measures) as (keyof typeof measures)[], 'must be l2, cosine, dot or hamming'),
  v.transform((given) => measures[given]),
)

/** The fields of a query that say how to search by a vector. */
export const searchFields = {
  vector: v.nullish(vectorInput),
  vector_column: v.nullish(filledText),
  distance_type: v.nullish(distanceType),
  lower_bound: v.nullish(distance),
  upper_bound: v.nullish(distance),
  prefilter: v.nullish(flag),
}

type SearchFields = { [Name in keyof typeof searchFields]?: v.InferOutput<(typeof searchFields)[Name]> }

/** The search that a query asks for, if any. */
export function searchOf(request: SearchFields): VectorSearch | undefined {
  const { vectors, hasBoth } = vectorsOf(request.vector)
  if (hasBoth) throw invalid('vector has both single_vector and multi_vector; give one of them.')
  if (vectors.length === 0) return undefined
  return {
    vectors,
    column: request.vector_column ?? undefined,
    measure: request.distance_type ?? undefined,
    lower: request.lower_bound ?? undefined,
    upper: request.upper_bound ?? undefined,
    prefilter: request.prefilter ?? undefined,
  }
}

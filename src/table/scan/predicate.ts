import type { Schema } from '@uwdata/flechette'
import type { Predicate } from '../../predicate/index.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { statisticsAt } from '../statistics/stored-statistics.ts'

/** Compiles a predicate for the time it is. The language is loaded when the first one is used. */
export async function compile(text: string, schema: Schema, now: number): Promise<Predicate> {
  const { compilePredicate } = await import('../../predicate/index.ts')
  return compilePredicate(text, schema, now)
}

/** What the statistics of a fragment say of a predicate. */
export function prune(predicate: Predicate, schema: Schema, entry: FragmentEntry): 'none' | 'some' | 'all' {
  return predicate.prune((path) => statisticsAt(entry.statistics, schema, path), entry.rows)
}

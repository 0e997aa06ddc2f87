import type { Table } from '@uwdata/flechette'
import { CatalogError } from '../../../../src/base/errors.ts'
import { operandsOf } from '../../../../src/engine/predicate/evaluate/fold.ts'
import { planExpression } from '../../../../src/engine/predicate/plan/expression.ts'
import { planPredicate } from '../../../../src/engine/predicate/plan/filter.ts'
import type { Plan, Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { isFloat } from '../../../../src/engine/predicate/plan/types.ts'
import { type Cell, evaluate } from '../evaluate/interpret.ts'
import { cellsOf } from './cells.ts'

/*
 * Where both sides answer, and the answers are known to differ.
 */

/** What a side answers: rows, values, or an error. */
export type Answer =
  | { readonly ids: readonly number[] }
  | { readonly values: readonly unknown[]; readonly type: string }
  | { readonly error: string }

/** Why answers differ, and expressions where they do so. */
export const reasons: Readonly<
  Record<string, { readonly is: Reason; readonly examples: readonly string[] }>
> = {
  unknown: {
    is: isUnknownThere,
    examples: [
      "date_part('year', at_n) = 0",
      "DATE_PART('years', berlin_n) > '1'",
      "date_part('y' , berlin_n ) != 1",
      "at_n BETWEEN TIMESTAMP '1684-10-19 08:00:00' AND DATE '9999-12-31'",
      'CAST(at_n AS TIMESTAMP(0)) < CAST(9223372036854775807 AS TIMESTAMP(0))',
    ],
  },
  digits: { is: isAlmostEqual, examples: ['cbrt(h)', 'atan2(f32, j)'] },
  signs: { is: isOfSigns, examples: ['cos(single) < 1', 'h * 0.0 = abs(h) * 0.0'] },
  lists: {
    is: isOfLists,
    examples: [
      'i NOT IN (1, 2) OR i NOT IN (3)',
      'f NOT IN (-2.25) OR f <> 0',
      'NOT (j NOT IN (NULL, 2) OR j IN (5, NULL))',
      "s NOT IN (t, 'x') AND s IN ('apple')",
      'i IN (j, 7) AND i IN (1, 2, 5, 0, -1)',
      "NOT (upper(s) IN ('a', 'apple')) OR NOT (upper(s) IN ('A', 'a_b'))",
    ],
  },
  noItems: {
    is: isOfNoItems,
    examples: [
      'NOT (tags IS NOT NULL OR array_has_any(tags, tags))',
      'tags IS NULL AND list_has_all(tags, tags)',
    ],
  },
  scales: {
    is: isOfScales,
    examples: ["round(fine, 1) IN (CAST('5.3000000000' AS DECIMAL(38, 10)), 1704067200)"],
  },
  intervals: { is: isInterval, examples: ['CAST(nullif(last_n, last_m) AS STRING)'] },
  longDecimals: { is: isLongDecimal, examples: ['CAST(fine + 2 AS STRING)'] },
}

type Reason = (text: string, expected: Answer, found: Answer, table: Table) => boolean

/** Whether it is known that both sides answer otherwise. */
export function computedOtherwise(text: string, expected: Answer, found: Answer, table: Table): boolean {
  return Object.values(reasons).some(({ is }) => is(text, expected, found, table))
}

/**
 * A comparison with a literal that has no place in the unit of what is cast, or taken apart, is NULL there. So the
 * reference may differ by NULL instead of an answer, and by what a test for NULL makes of that.
 */
function isUnknownThere(text: string, expected: Answer, found: Answer): boolean {
  if (!hasYearBeyond(text) && !hasCountBeyond(text) && !hasDateBeyond(text)) return false
  const testsNull = /\bIS (?:NOT )?(?:NULL|TRUE|FALSE)|coalesce|nvl|nullif|concat/.test(text)
  if ('ids' in expected && 'ids' in found) {
    const isWithin = (ids: readonly number[], others: readonly number[]) =>
      ids.every((id) => others.includes(id))
    return isWithin(expected.ids, found.ids) || (testsNull && isWithin(found.ids, expected.ids))
  }
  if (!('values' in expected && 'values' in found)) return false
  const { values } = expected
  if (testsNull && values.every((value) => value === values[0])) return true
  return values.every((value, row) => value === null || value === found.values[row])
}

/** Whether the year of a time in nanoseconds is compared with one that such times do not have whole. */
function hasYearBeyond(text: string): boolean {
  if (
    !/date_?part\(\s*'(?:years?|yr?|yrs)'\s*,\s*(?:\w+_n\b|to_timestamp\(|.*TIMESTAMP\b(?!\([036]\)))/i.test(
      text,
    )
  )
    return false
  const numbers =
    text
      .replace(/'(-?\d+)'/g, '$1')
      .replace(/'[^']*'|TIMESTAMP\(\d\)/g, '')
      .match(/(?<![\w.])-?\d+\b/g) ?? []
  return numbers.some((number) => Number(number) < 1678 || Number(number) > 2260)
}

/** Whether a time in nanoseconds is compared with a date that such times do not have. */
function hasDateBeyond(text: string): boolean {
  if (!/_n\b|TIMESTAMP\(9\)/.test(text)) return false
  const years = Array.from(text.matchAll(/'([+-]?\d{4,})-\d\d-\d\d/g), ([, year]) => Number(year))
  return years.some((year) => year < 1678 || year > 2261)
}

/** Whether a cast to a timestamp is compared with a count that times of other units have no place for. */
function hasCountBeyond(text: string): boolean {
  return /(?:CAST\(|::).*TIMESTAMP/.test(text) && /\b922337203685477580[67]\b/.test(text)
}

/** How much of a float its last digits are, by its type. */
const lastDigits: Readonly<Record<string, number>> = { double: 2 ** -50, float: 2 ** -22, halffloat: 2 ** -9 }

/** Whether both differ by the last digits of functions that each platform computes for itself. */
function isAlmostEqual(text: string, expected: Answer, found: Answer): boolean {
  if (!/\b(?:exp|ln|log\d*|pow(?:er)?|cbrt|cot|a?(?:sin|cos|tan)h?2?)\(/.test(text)) return false
  if (!('values' in expected && 'values' in found) || expected.type !== found.type) return false
  const most = lastDigits[found.type] ?? 0
  return expected.values.every((value, row) => {
    const other = found.values[row]
    if (typeof value !== 'number' || typeof other !== 'number') return value === other
    return Object.is(value, other) || Math.abs(value - other) <= Math.abs(value) * most
  })
}

/** The rows of which both sides say something else. */
function differing(expected: Answer, found: Answer): readonly number[] {
  if ('ids' in expected && 'ids' in found) {
    const [a, b] = [new Set(expected.ids), new Set(found.ids)]
    return [...expected.ids.filter((id) => !b.has(id)), ...found.ids.filter((id) => !a.has(id))]
  }
  if (!('values' in expected && 'values' in found) || expected.type !== found.type) return []
  return expected.values.flatMap((value, row) =>
    JSON.stringify(value) === JSON.stringify(found.values[row]) ? [] : [row],
  )
}

/** Whether something holds of the parts of what is asked, for every row that differs. */
function holdsOfParts(
  text: string,
  expected: Answer,
  found: Answer,
  table: Table,
  holds: (parts: readonly Plan[], cell: Cell) => boolean,
): boolean {
  const rows = differing(expected, found)
  if (rows.length === 0) return false
  const plan =
    'ids' in expected
      ? planPredicate(text, table.schema)
      : planExpression(text, table.schema, Date.now, undefined).plan
  const parts: Plan[] = [plan]
  for (const part of parts) parts.push(...operandsOf(part))
  const cells = cellsOf(table)
  return rows.every((row) => holds(parts, cells(row)))
}

/**
 * A NaN that is computed has the sign there that the processor gives it, and is the least of all numbers with one. Zeros
 * of either sign are two numbers there where neither side of a comparison is a literal. Here both are one.
 */
function isOfSigns(text: string, expected: Answer, found: Answer, table: Table): boolean {
  return holdsOfParts(text, expected, found, table, (parts, cell) =>
    parts.some((part) => makesNaN(part, cell) || comparesZeros(part, cell)),
  )
}

function makesNaN(part: Plan, cell: Cell): boolean {
  if (!isFloat(part.type) || part.kind === 'column' || part.kind === 'literal' || part.kind === 'cast')
    return false
  const isNone = (one: Plan) => Number.isNaN(computedOf(one, cell))
  return isNone(part) && !operandsOf(part).some(isNone)
}

function comparesZeros(part: Plan, cell: Cell): boolean {
  const sides = part.kind === 'compare' ? [part.left, part.right] : part.kind === 'call' ? part.args : []
  const isZero = (one: Plan) => isFloat(one.type) && one.kind !== 'literal' && computedOf(one, cell) === 0
  return sides.filter(isZero).length > 1
}

/** A part's value; undefined where it fails. */
function computedOf(part: Plan, cell: Cell): Scalar | undefined {
  try {
    return evaluate(part, cell)
  } catch (error) {
    if (error instanceof CatalogError) return undefined
    throw error
  }
}

/**
 * Of several lists about one value the reference makes one, and forgets NULL, and what items that are computed may be.
 * Whether a float is zero is such a list.
 */
function isOfLists(text: string, expected: Answer, found: Answer, table: Table): boolean {
  return holdsOfParts(text, expected, found, table, (parts, cell) => {
    const lists = parts.flatMap((part) => {
      const listed = listedIn(part)
      const value = listed && computedOf(listed, cell)
      return value === undefined
        ? []
        : [{ name: nameOf(listed!), isForgotten: isForgotten(part, cell, value) }]
    })
    return lists.some(
      (list, i) => list.isForgotten && lists.some((other, k) => k !== i && other.name === list.name),
    )
  })
}

function isForgotten(list: Plan, cell: Cell, value: Scalar): boolean {
  if (value === null || (list.kind === 'in' && list.hasNull)) return true
  return (
    list.kind === 'call' &&
    list.args.slice(1).some((item) => {
      const computed = computedOf(item, cell)
      return computed === null || (item.kind !== 'literal' && computed === value)
    })
  )
}

/** What is looked up in a list. */
function listedIn(part: Plan): Plan | undefined {
  if (part.kind === 'in') return part.arg
  if (part.kind === 'compare' && isFloat(part.left.type)) return part.left
  return part.kind === 'call' && part.function.name === 'in' ? part.args[0] : undefined
}

/** The same for plans that compute the same, wherever they stand. */
function nameOf(plan: Plan): string {
  return JSON.stringify(plan, (key, value: unknown) =>
    key === 'at' ? undefined : typeof value === 'bigint' ? `${value}n` : value,
  )
}

/**
 * Where no row of a batch has an item to look for, lists that are NULL have none and all of them there. AND and OR hand
 * over a batch of the few rows that they leave open, so it depends on the other rows.
 */
function isOfNoItems(text: string, expected: Answer, found: Answer, table: Table): boolean {
  return holdsOfParts(text, expected, found, table, (parts, cell) =>
    parts.some((part) => {
      if (part.kind !== 'call' || !/^(?:array|list)_has_a(?:ny|ll)$/.test(part.function.name)) return false
      const items = computedOf(part.args[1]!, cell)
      return (
        computedOf(part, cell) === null && (items === null || (Array.isArray(items) && items.length === 0))
      )
    }),
  )
}

/** Durations of different units become intervals there, which are written otherwise. */
function isInterval(text: string, expected: Answer, found: Answer): boolean {
  if (!/(?:coalesce|nullif|greatest|least|nvl2)\((?=.*\blast_\w).*STRING|concat/.test(text)) return false
  const units = new Set(text.match(/\blast_\w/g))
  return units.size > 1 && !('error' in expected) && !('error' in found)
}

/** A decimal of more digits than its type has is written there with as many, and so as another number. */
function isLongDecimal(text: string, expected: Answer, found: Answer): boolean {
  if (
    !('values' in expected && 'values' in found) ||
    !/\bfine\b.*(?:STRING|concat)|concat.*\bfine\b/.test(text)
  )
    return false
  return expected.values.every((value, row) => {
    const other = found.values[row]
    return value === other || (typeof other === 'string' && /\d{28,}\.\d/.test(other))
  })
}

/** A decimal that is rounded has another scale there than it announces, also where it is looked up in a list. */
function isOfScales(text: string): boolean {
  return /\bround\((?:fine|cents|whole|dec|huge)(?:, -?\d+)?\) (?:NOT )?IN \(/.test(text)
}

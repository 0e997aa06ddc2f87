import type { DataType } from '@uwdata/flechette'
import { layoutOf } from '../../arrow/layout.ts'
import type { Plan } from './plan.ts'

/** Bytes of a number, a time or a boolean as text. */
const bytesOfPlain = 80
/** Bytes of a UTF-16 unit in UTF-8. */
const bytesOfUnit = 3

/** Functions that return a text no longer than their first argument. */
const shortening = new Set([
  'ltrim',
  'rtrim',
  'btrim',
  'trim',
  'left',
  'right',
  'reverse',
  'split_part',
  'nullif',
])
/** Functions that replace each letter by another one. */
const ofLetters = new Set(['lower', 'upper', 'initcap'])
/** Functions that join their arguments, or choose one of them. */
const joining = new Set(['||', 'concat', 'coalesce', 'ifnull', 'nvl'])

/**
 * The most bytes that an expression's values take in the given number of rows, as far as that follows from the
 * expression: infinity if lengths are only known after evaluation. `ofColumn` returns the bytes of a top-level column
 * in all rows.
 */
export function mostBytes(plan: Plan, rows: number, ofColumn: (index: number) => number): number {
  const fixed = fixedBytes(plan.type)
  if (fixed !== undefined) return fixed * rows
  const sumOf = (plans: readonly Plan[]) =>
    plans.reduce((sum, one) => sum + textBytes(one, rows, ofColumn), 0)
  switch (plan.kind) {
    case 'literal':
      if (plan.value === null) return rows
      return typeof plan.value === 'string' ? (Buffer.byteLength(plan.value) + 4) * rows : Infinity
    case 'column':
      // A dictionary may be smaller than the values that it encodes.
      return plan.path.length === 1 ? ofColumn(plan.path[0]!) : Infinity
    case 'cast':
      return sumOf([plan.arg])
    case 'case':
      return sumOf([...plan.branches.map(({ result }) => result), plan.otherwise])
    case 'call': {
      const { name } = plan.function
      if (shortening.has(name)) return sumOf(plan.args.slice(0, 1))
      if (ofLetters.has(name)) return sumOf(plan.args.slice(0, 1)) * bytesOfUnit
      return joining.has(name) ? sumOf(plan.args) : Infinity
    }
    default:
      return Infinity
  }
}

/** The same for values converted to text. */
function textBytes(plan: Plan, rows: number, ofColumn: (index: number) => number): number {
  return fixedBytes(plan.type) === undefined ? mostBytes(plan, rows, ofColumn) : bytesOfPlain * rows
}

/** The bytes of each value of a type; undefined if values differ. */
function fixedBytes(type: DataType): number | undefined {
  const layout = layoutOf(type)
  if (layout.kind === 'null' || layout.kind === 'bits') return 1
  return layout.kind === 'fixed' ? layout.bytes : undefined
}

import type { DataType } from '@uwdata/flechette'
import { layoutOf } from '../../arrow/layout.ts'
import type { Plan } from './plan.ts'

/** Bytes of a number, a time or a flag as text. */
const bytesOfPlain = 80
/** Bytes of a UTF-16 unit in UTF-8. */
const bytesOfUnit = 3

/** What gives a text that is no longer than its first argument. */
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
/** What gives another letter for each one. */
const ofLetters = new Set(['lower', 'upper', 'initcap'])
/** What joins its arguments, or chooses one of them. */
const joining = new Set(['||', 'concat', 'coalesce', 'ifnull', 'nvl'])

/**
 * The most bytes that the values of an expression take in so many rows, as far as that follows from the expression:
 * infinity where their lengths show only when they are made. `ofColumn` gives the bytes of a top-level column in all
 * rows.
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
      // The bytes of a dictionary are not those of the values that it stands for.
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

/** The same of what is made text. */
function textBytes(plan: Plan, rows: number, ofColumn: (index: number) => number): number {
  return fixedBytes(plan.type) === undefined ? mostBytes(plan, rows, ofColumn) : bytesOfPlain * rows
}

/** The bytes of each value of a type; undefined where values differ. */
function fixedBytes(type: DataType): number | undefined {
  const layout = layoutOf(type)
  if (layout.kind === 'null' || layout.kind === 'bits') return 1
  return layout.kind === 'fixed' ? layout.bytes : undefined
}

import { Type } from '@uwdata/flechette'
import { hasRow } from '../../arrow/bitmap.ts'
import { CatalogError } from '../../errors.ts'
import type { Plan, Scalar } from '../plan/plan.ts'
import { builder } from './build.ts'
import { joinEqualities } from './equalities.ts'
import { Frame } from './frame.ts'
import { wantBoth } from './node.ts'
import { readerOf } from './read.ts'

/**
 * The plan with every constant part computed, and without needless nulls. A part that fails becomes a call that
 * fails, so that it does so only if a row is asked for it.
 */
export function fold(plan: Plan): Plan {
  switch (plan.kind) {
    case 'column':
    case 'literal':
      return plan
    case 'and':
    case 'or': {
      const args = joinEqualities(plan.kind, plan.args.map(fold))
      return args.length === 1 ? args[0]! : reduce({ ...plan, args }, args.length)
    }
    case 'call':
      return reduce({ ...plan, args: plan.args.map(fold) }, plan.args.length)
    case 'compare':
    case 'arithmetic':
      return reduce({ ...plan, left: fold(plan.left), right: fold(plan.right) }, 2)
    default:
      return reduce({ ...plan, arg: fold(plan.arg) }, 1)
  }
}

function reduce(plan: Plan, operands: number): Plan {
  // What is null whatever the other operands are need not look at them.
  if (isAlwaysNull(plan)) return { kind: 'literal', type: plan.type, value: null }
  if (operands === 0 || !operandsOf(plan).every((arg) => arg.kind === 'literal')) return plan
  try {
    return { kind: 'literal', type: plan.type, value: computed(plan) }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    const evaluate = (): Scalar => {
      throw error
    }
    return { kind: 'call', type: plan.type, at: 0, args: [], function: { name: '', strict: false, evaluate } }
  }
}

function isAlwaysNull(plan: Plan): boolean {
  switch (plan.kind) {
    case 'call':
      return plan.function.strict && plan.args.some(isNullLiteral)
    case 'like':
      return plan.pattern === null || isNullLiteral(plan.arg)
    case 'compare':
    case 'arithmetic':
    case 'negate':
    case 'cast':
    case 'in':
      return operandsOf(plan).some(isNullLiteral)
    default:
      return false
  }
}

function isNullLiteral(plan: Plan): boolean {
  return plan.kind === 'literal' && plan.value === null
}

/** The plans a plan is made of. */
export function operandsOf(plan: Plan): readonly Plan[] {
  switch (plan.kind) {
    case 'column':
    case 'literal':
      return []
    case 'and':
    case 'or':
    case 'call':
      return plan.args
    case 'compare':
    case 'arithmetic':
      return [plan.left, plan.right]
    default:
      return [plan.arg]
  }
}

function computed(plan: Plan): Scalar {
  const build = builder([])
  const frame = new Frame(32)
  frame.moveTo({ length: 1, columns: [] }, 0, 1)
  const need = frame.allRows()
  if (plan.type.typeId !== Type.Bool) return readerOf(build.value(plan).vector(frame, need))(0)
  const yes = frame.bitmap()
  const no = frame.bitmap()
  build.test(plan).test(frame, need, wantBoth, yes, no)
  return hasRow(yes, 0) ? true : hasRow(no, 0) ? false : null
}

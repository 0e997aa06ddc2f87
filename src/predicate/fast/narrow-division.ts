import { type DataType, Type } from '@uwdata/flechette'
import type { FastPath } from '../evaluate/build.ts'
import { isWidening } from '../evaluate/call.ts'
import { isLong } from '../evaluate/scalar.ts'
import type { CastPlan, Plan } from '../plan/plan.ts'

/**
 * Quotients and remainders of narrow integers by a literal, such as `key % 2 = 0`. Both sides of an operator have one type,
 * and that of the literal is 64 bits wide, so each row would be a BigInt. The results fit the narrow type. They are
 * compared there, and widened for all else.
 */
export const narrowDivision: FastPath = {
  name: 'narrow-division',
  test(plan, _slow, build) {
    if (plan.kind !== 'compare' || plan.right.kind !== 'literal') return undefined
    const { value } = plan.right
    const found = narrowed(plan.left)
    if (found === undefined || typeof value !== 'bigint') return undefined
    const { narrow, most } = found
    const other = Number(value)
    if (Math.abs(other) > most) return undefined
    return build.test({ ...plan, left: narrow, right: { ...plan.right, type: narrow.type, value: other } })
  },
  value(plan, _slow, build) {
    const found = narrowed(plan)
    return found && build.value({ ...found.cast, arg: found.narrow })
  },
}

/** The division before it was widened, the cast that widens, and the largest value of the narrow type. */
function narrowed(plan: Plan): { narrow: Plan; cast: CastPlan; most: number } | undefined {
  if (plan.kind !== 'arithmetic' || (plan.operator !== '%' && plan.operator !== '/')) return undefined
  const { left, right } = plan
  if (!isLong(plan.type) || left.kind !== 'cast' || !isWidening(left.arg.type, left.type)) return undefined
  const { type } = left.arg
  const most = mostOf(type)
  if (most === undefined || right.kind !== 'literal' || typeof right.value !== 'bigint') return undefined
  // The smallest value by -1 does not fit, and nothing may be divided by 0.
  const divisor = Number(right.value)
  if (divisor === 0 || divisor === -1 || Math.abs(divisor) > most) return undefined
  const narrow: Plan = { ...plan, type, left: left.arg, right: { ...right, type, value: divisor } }
  return { narrow, cast: left, most }
}

/** The largest value of a signed integer whose values are numbers. */
function mostOf(type: DataType): number | undefined {
  if (type.typeId !== Type.Int || !type.signed || type.bitWidth > 32) return undefined
  return 2 ** (type.bitWidth - 1) - 1
}

import { type DataType, Type } from '@uwdata/flechette'
import { unitNanoseconds } from '../../arrow/time/calendar.ts'
import { isLiteral } from './fold.ts'
import { literal } from './literals.ts'
import type { CastPlan, LiteralPlan, NonNullScalar, Plan } from './plan.ts'
import { integerRange } from './types.ts'

/**
 * `CAST(x AS type) <op> literal` as a comparison of x itself, where the literal is also a value of x's type:
 * what x is need not be converted row by row, nor can it fail to. Gives x and the literal of its type.
 * Source: DataFusion's `unwrap_cast` rule, which also decides what such predicates mean where a cast fails.
 */
export function unwrapped(
  plan: Plan,
  value: LiteralPlan,
): { readonly plan: Plan; readonly value: LiteralPlan } | undefined {
  if (plan.kind !== 'cast' || value.value === null) return undefined
  const converted = valueIn(value.value, plan, plan.arg.type)
  if (converted === undefined) return undefined
  const inner = { plan: plan.arg, value: literal(plan.arg.type, converted) }
  return unwrapped(inner.plan, inner.value) ?? inner
}

/** As `unwrapped`, for several literals: all of them, or none. */
export function unwrappedAll(
  plan: Plan,
  values: readonly Plan[],
): { readonly plan: Plan; readonly values: readonly LiteralPlan[] } | undefined {
  if (plan.kind !== 'cast') return undefined
  const literals: LiteralPlan[] = []
  for (const value of values) {
    if (!isLiteral(value)) return undefined
    const found = value.value === null ? null : valueIn(value.value, plan, plan.arg.type)
    if (found === undefined) return undefined
    literals.push(literal(plan.arg.type, found))
  }
  return unwrappedAll(plan.arg, literals) ?? { plan: plan.arg, values: literals }
}

function valueIn(value: NonNullScalar, { type: from }: CastPlan, to: DataType): NonNullScalar | undefined {
  if (from.typeId === Type.Timestamp && to.typeId === Type.Timestamp) {
    // A time that gets a zone changes; all others only change their unit.
    if (from.timezone !== null && from.timezone !== to.timezone) return undefined
    const nanoseconds = (value as bigint) * unitNanoseconds[from.unit]
    const converted = nanoseconds / unitNanoseconds[to.unit]
    return BigInt.asIntN(64, converted) === converted ? converted : undefined
  }
  const scale = scaleOf(from)
  const target = scaleOf(to)
  if (scale === undefined || target === undefined) return undefined
  const unscaled = BigInt(value as number | bigint) * 10n ** BigInt(target)
  const divisor = 10n ** BigInt(scale)
  return unscaled % divisor === 0n ? fitted(unscaled / divisor, to) : undefined
}

/** How many decimals a type of whole or decimal numbers has; undefined for other types. */
function scaleOf(type: DataType): number | undefined {
  switch (type.typeId) {
    case Type.Int:
    case Type.Timestamp:
      return 0
    case Type.Date:
      return type.unit === 0 ? 0 : undefined
    case Type.Decimal:
      return type.scale >= 0 ? type.scale : undefined
    default:
      return undefined
  }
}

function fitted(value: bigint, type: DataType): NonNullScalar | undefined {
  if (type.typeId === Type.Decimal) {
    const limit = 10n ** BigInt(type.precision)
    return value < limit && value > -limit ? value : undefined
  }
  if (type.typeId === Type.Date) return BigInt.asIntN(32, value) === value ? Number(value) : undefined
  if (type.typeId !== Type.Int) return BigInt.asIntN(64, value) === value ? value : undefined
  const [low, high] = integerRange(type)
  if (value < low || value > high) return undefined
  return type.bitWidth === 64 ? value : Number(value)
}

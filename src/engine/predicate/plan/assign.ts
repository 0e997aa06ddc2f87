import { type DataType, type Field, Type, timestamp } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { buildBatch } from '../../arrow/input/build.ts'
import { typeName as exactName } from '../../arrow/type-name.ts'
import { converter, eachItem, showScalar } from '../cast/index.ts'
import type { Convert } from '../cast/numbers.ts'
import { excerpt, rowError } from '../errors.ts'
import { isLiteral } from './fold.ts'
import { literal } from './literals.ts'
import type { LiteralPlan, NonNullScalar, Plan, Scalar } from './plan.ts'
import { refuse, type Scope } from './scope.ts'
import { isNull, isReadable, itemType, logicalType, sameType, typeName } from './types.ts'

/**
 * Converts a plan's values to a column's type by the dialect's casts. Unlike a cast, it loses nothing: a fraction is
 * not cut, a time keeps its parts, and a number stays finite. Floats may be rounded.
 */
export function assigned(scope: Scope, plan: Plan, target: Field, at: number): Plan {
  const type = logicalType(target.type)
  if (isNull(plan.type) || (isLiteral(plan) && plan.value === null)) {
    if (target.nullable) return literal(type, null)
    throw refuse(scope, at, `NULL for ${nameOf(target)}, which takes none,`, 'Give another value.')
  }
  if (sameType(plan.type, type)) return isLiteral(plan) ? checked(scope, plan, target, at) : plan
  const convert = isReadable(type) ? lossless(plan.type, type) : undefined
  if (!convert) {
    const problem = `a value of type ${typeName(plan.type)} for ${nameOf(target)}, to which it cannot be converted,`
    throw refuse(scope, at, problem, 'Give a value of its type, or CAST through STRING.')
  }
  const what = (value: NonNullScalar) =>
    `${typeName(plan.type)} ${excerpt(showScalar(value, plan.type))} does not fit ${nameOf(target)}`
  const remedy = 'Give a value that fits, or CAST it on purpose.'
  if (isLiteral(plan)) {
    const value = convert(plan.value!)
    if (value === undefined) throw refuse(scope, at, `${what(plan.value!)},`, remedy)
    return checked(scope, literal(type, value), target, at)
  }
  const strict = (value: NonNullScalar): Scalar => {
    const converted = convert(value)
    if (converted !== undefined) return converted
    throw rowError(at, what(value), remedy)
  }
  return { kind: 'cast', type, arg: plan, orNull: false, at, convert: strict }
}

function nameOf({ name, type }: Field): string {
  return `column ${JSON.stringify(name)} of type ${exactName(type)}`
}

/** Accepts a constant that the column's layout can store, which may have a fixed size. */
function checked(scope: Scope, plan: LiteralPlan, target: Field, at: number): LiteralPlan {
  try {
    buildBatch({ ...target, nullable: true }, { values: [plan.value], rows: [0] })
    return plan
  } catch (cause) {
    if (!(cause instanceof CatalogError)) throw cause
    const what = `the ${typeName(plan.type)} ${excerpt(showScalar(plan.value!, plan.type))}`
    throw refuse(scope, at, `${what}, which does not fit ${nameOf(target)},`, 'Give a value that fits.', {
      cause,
    })
  }
}

/** Converts values between types, and returns undefined for a value that would lose something. */
function lossless(from: DataType, to: DataType): Convert | undefined {
  if (sameType(from, to)) return (value) => value
  const [source, target] = [itemType(from), itemType(to)]
  if (source && target) {
    const item = isNull(source) ? () => undefined : lossless(source, target)
    return item && eachItem(item)
  }
  // A number is not accepted as its bytes.
  const convert = from.typeId === Type.Int && to.typeId === Type.Binary ? undefined : converter(from, to)
  if (!convert) return undefined
  if (to.typeId === Type.Float) {
    return (value) => {
      const converted = convert(value)
      const grew = !Number.isFinite(converted) && typeof value !== 'string' && isFiniteValue(value)
      return grew ? undefined : converted
    }
  }
  if (!mustRoundTrip(from, to)) return convert
  // A zone changes a time, and loses nothing of it. A date belongs to its zone.
  const [here, there] = isInstant(from) && isInstant(to) ? [zoneless(from), zoneless(to)] : [from, to]
  const [convertTo, convertBack] = [converter(here, there)!, converter(there, here)!]
  return (value) => {
    const same = convertTo(value)
    return same !== undefined && convertBack(same) === value ? convert(value) : undefined
  }
}

/** Whether values are points in time, not days. */
function isInstant(type: DataType): boolean {
  return type.typeId === Type.Timestamp || (type.typeId === Type.Date && type.unit === 1)
}

function zoneless(type: DataType): DataType {
  return type.typeId === Type.Timestamp ? timestamp(type.unit) : type
}

/** Whether a conversion must be reversible without a difference. */
function mustRoundTrip(from: DataType, to: DataType): boolean {
  switch (from.typeId) {
    case Type.Float:
      return to.typeId === Type.Int
    case Type.Decimal:
      return to.typeId === Type.Int || to.typeId === Type.Decimal
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return to.typeId !== Type.Utf8 && to.typeId !== Type.Int
    default:
      return false
  }
}

function isFiniteValue(value: NonNullScalar): boolean {
  return typeof value !== 'number' || Number.isFinite(value)
}

import type { DataType } from '@uwdata/flechette'
import { comparisonType, numericType } from '../plan/coerce.ts'
import { compare, fold, isLiteral } from '../plan/fold.ts'
import { resolveField } from '../plan/names.ts'
import { unsupportedType } from '../plan/operators.ts'
import type { Plan, Scalar } from '../plan/plan.ts'
import { cast, refuse } from '../plan/scope.ts'
import {
  boolean,
  double,
  floatType,
  isBoolean,
  isDecimal,
  isNull,
  isNumeric,
  isReadable,
  none,
  Type,
  text,
  typeName,
} from '../plan/types.ts'
import { type Call, expectArguments, type FunctionPlanner, looseCall, wrongType } from './signature.ts'

/** The common type of all arguments from `first` on. */
function commonType(call: Call, first = 0, keepsLast = false): DataType {
  let type: DataType = none
  for (const [i, arg] of call.args.entries()) {
    if (i < first) continue
    if (!isReadable(arg.type)) throw unsupportedType(call.scope, arg.type, call.at)
    // Of two time zones, the last one is kept.
    const common: DataType | undefined = keepsLast
      ? comparisonType(arg.type, type)
      : comparisonType(type, arg.type)
    if (!common) throw wrongType(call, i, typeName(type))
    type = common
  }
  return type
}

function castAll(call: Call, type: DataType, first = 0): Plan[] {
  return call.args.slice(first).map((arg) => cast(call.scope, arg, type, call.at))
}

const coalesce: FunctionPlanner = (call) => {
  expectArguments(call, 1, Infinity)
  const type = commonType(call, 0, true)
  return firstCall(call, type)
}

/** The first argument that is not null. */
function firstCall(call: Call, type: DataType): Plan {
  const evaluate = (...values: Scalar[]) => values.find((value) => value !== null) ?? null
  const { name, at } = call
  const first = { name, strict: false, takesFirst: true, evaluate } as const
  const args = castAll(call, type)
  // As in the reference, comparisons see through a folded choice to the cast in its result.
  if (isNeverNull(args[0]!)) return args[0]!
  return fold({ kind: 'call', type, function: first, args, at })
}

function isNeverNull(plan: Plan): boolean {
  if (plan.kind === 'cast') return !plan.orNull && isNeverNull(plan.arg)
  if (plan.kind === 'call') return plan.function.takesFirst === true && plan.args.some(isNeverNull)
  return plan.kind === 'literal' && plan.value !== null
}

/**
 * Coalesce of two arguments. Types other than conditions, whole numbers and floats become text, and decimals doubles.
 */
const nvl: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  for (const { type } of call.args) if (!isReadable(type)) throw unsupportedType(call.scope, type, call.at)
  const [a, b] = call.args.map((arg) => arg.type) as [DataType, DataType]
  const type =
    isNull(a) && isNull(b) ? boolean : isNull(a) ? plainType(b, b) : plainType(a, isNull(b) ? a : b)
  return firstCall(call, type)
}

function plainType(a: DataType, b: DataType): DataType {
  if (isBoolean(a) && isBoolean(b)) return boolean
  const type = numericType(a, b)
  if (type === undefined) return text
  if (isDecimal(a) || isDecimal(b)) return double
  // No integer type holds both unsigned 64-bit and negative numbers.
  return isDecimal(type) || (type.typeId === Type.Float && type.precision === 0) ? floatType(1) : type
}

const nvl2: FunctionPlanner = (call) => {
  expectArguments(call, 3)
  const [a, b] = call.args.map((arg) => arg.type) as [DataType, DataType]
  // As in the reference, the tested value counts only if it is of the same kind as the others.
  const isAlike = a.typeId === b.typeId || (isNumeric(a) && isNumeric(b))
  const type = commonType(call, isAlike ? 0 : 1)
  const [tested] = call.args
  const [then, otherwise] = castAll(call, type, 1) as [Plan, Plan]
  const when = fold({ kind: 'isNull', type: boolean, arg: tested!, negated: true })
  // As `coalesce` does.
  if (isLiteral(when)) return when.value === true ? then : otherwise
  return { kind: 'case', type, operand: undefined, branches: [{ when, result: then }], otherwise }
}

const nullif: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const type = commonType(call)
  const [first, second] = castAll(call, type)
  const evaluate = (a: Scalar = null, b: Scalar = null) =>
    a !== null && b !== null && compare('=', a, b) ? null : a
  // NaN equals itself.
  const ofNumbers = (a: number, b: number) => (a === b || (Number.isNaN(a) && Number.isNaN(b)) ? null : a)
  return looseCall(call, type, [first!, second!], evaluate, isNumeric(type) ? ofNumbers : undefined)
}

/** The greatest or least argument that is not null. */
function extreme(operator: '>' | '<'): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1, Infinity)
    const type = commonType(call)
    const evaluate = (...values: Scalar[]) => {
      let best: Scalar = null
      for (const value of values) {
        if (value !== null && (best === null || compare(operator, value, best))) best = value
      }
      return best
    }
    // NaN is above all other numbers.
    const isBetter = (a: number, b: number) =>
      operator === '>'
        ? a > b || (Number.isNaN(a) && !Number.isNaN(b))
        : a < b || (Number.isNaN(b) && !Number.isNaN(a))
    const ofNumbers = (...values: number[]) =>
      values.reduce((best, value) => (isBetter(value, best) ? value : best))
    return looseCall(call, type, castAll(call, type), evaluate, isNumeric(type) ? ofNumbers : undefined)
  }
}

const isValid: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  return fold({ kind: 'isNull', type: boolean, arg: call.args[0]!, negated: true })
}

const getField: FunctionPlanner = (call) => {
  expectArguments(call, 2, Infinity)
  let [plan] = call.args
  for (const [i, name] of call.args.slice(1).entries()) {
    if (!isLiteral(name) || typeof name.value !== 'string') throw wrongType(call, i + 1, "a field's name")
    if (plan?.kind !== 'column') {
      throw refuse(call.scope, call.at, 'get_field of something else than a column', 'Name a column.')
    }
    plan = resolveField(call.scope.text, plan, name.value, call.at)
  }
  return plan!
}

export const choiceFunctions: Record<string, FunctionPlanner> = {
  coalesce,
  nvl,
  ifnull: nvl,
  nvl2,
  nullif,
  greatest: extreme('>'),
  least: extreme('<'),
  is_valid: isValid,
  get_field: getField,
}

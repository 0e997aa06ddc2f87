import type { DataType } from '@uwdata/flechette'
import type { Plan } from '../plan/plan.ts'
import { cast } from '../plan/scope.ts'
import { double, floatType, isDecimal, isNull, isNumeric, typeName } from '../plan/types.ts'
import { type Call, wrongType } from './signature.ts'

/** The float type of a numeric function's result: single if all arguments are single. */
export function floatOf(call: Call, count = call.args.length): DataType {
  for (let i = 0; i < count; i++) {
    const { type } = call.args[i]!
    if (!isNumeric(type) && !isNull(type)) throw wrongType(call, i, 'a number')
  }
  return call.args.slice(0, count).every(({ type }) => isSingle(type)) ? floatType(1) : double
}

function isSingle(type: DataType): boolean {
  return typeName(type) === 'float'
}

export function floats(call: Call, type: DataType, count = call.args.length): Plan[] {
  return call.args.slice(0, count).map((arg) => cast(call.scope, arg, type, call.at))
}

/** Single, unless a double or a decimal is among the arguments: whole numbers count as single, too. */
export function singleOf(call: Call, count = call.args.length): DataType {
  floatOf(call, count)
  return call.args.slice(0, count).some(({ type }) => isDecimal(type) || typeName(type) === 'double')
    ? double
    : floatType(1)
}

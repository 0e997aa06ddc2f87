import type { DataType } from '@uwdata/flechette'
import { cast } from '../plan/scope.ts'
import { isInteger, isNull, long, Type, text } from '../plan/types.ts'
import {
  badValue,
  chargeCall,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  stepsOfCharacter,
  strictCall,
  textArgument,
  wrongType,
} from './signature.ts'

/** One of the parts between delimiters, counted from 1, or from the end when negative. */
const splitPart: FunctionPlanner = (call) => {
  expectArguments(call, 3)
  const args = [textArgument(call, 0), textArgument(call, 1), integerArgument(call, 2)]
  return strictCall(call, text, args, (value: string, delimiter: string, position: bigint) => {
    const place = Number(position)
    chargeCall(call, value.length * stepsOfCharacter)
    if (place === 0) throw badValue(call, 'the part 0', 'Count parts from 1, or from -1 at the end.')
    const parts = delimiter === '' ? [value] : value.split(delimiter)
    return (place > 0 ? parts[place - 1] : parts.at(place)) ?? ''
  })
}

/** What comes before the nth delimiter or, counted from the end, after it. */
const substringIndex: FunctionPlanner = (call) => {
  expectArguments(call, 3)
  const args = [textArgument(call, 0), textArgument(call, 1), integerArgument(call, 2)]
  return strictCall(call, text, args, (value: string, delimiter: string, position: bigint) => {
    const count = Number(position)
    chargeCall(call, value.length * stepsOfCharacter)
    if (delimiter === '' || count === 0) return ''
    const parts = value.split(delimiter)
    return (count > 0 ? parts.slice(0, count) : parts.slice(count)).join(delimiter)
  })
}

const character: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  return strictCall(call, text, [integerArgument(call, 0)], (code: bigint) => {
    const point = Number(code)
    if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      throw badValue(call, `${code}, which is no character's code,`, 'Codes go from 0 to 1114111.')
    }
    return String.fromCodePoint(point)
  })
}

const hexadecimal: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  const arg = call.args[0]!
  if (!isInteger(arg.type) && !isNull(arg.type)) throw wrongType(call, 0, 'an integer')
  const plan = isUnsignedLong(arg.type) ? arg : cast(call.scope, arg, long, call.at)
  return strictCall(call, text, [plan], (value: bigint) => BigInt.asUintN(64, value).toString(16))
}

function isUnsignedLong(type: DataType): boolean {
  return type.typeId === Type.Int && type.bitWidth === 64 && !type.signed
}

export const textPartFunctions: Record<string, FunctionPlanner> = {
  split_part: splitPart,
  substr_index: substringIndex,
  substring_index: substringIndex,
  chr: character,
  to_hex: hexadecimal,
}

import type { DataType } from '@uwdata/flechette'
import { excerpt } from '../errors.ts'
import type { Plan } from '../plan/plan.ts'
import { cast, refuse } from '../plan/scope.ts'
import { bytes, isBytes, isInteger, isNull, long, Type, text } from '../plan/types.ts'
import {
  badValue,
  type Call,
  chargeCall,
  checkLength,
  constantArgument,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  stepsOfCharacter,
  strictCall,
  textArgument,
  wrongType,
} from './signature.ts'

/** One of the parts between delimiters, counted from 1, or from the end if negative. */
const splitPart: FunctionPlanner = (call) => {
  expectArguments(call, 3)
  const args = [textArgument(call, 0), textArgument(call, 1), integerArgument(call, 2)]
  return strictCall(call, text, args, (value: string, delimiter: string, position: bigint) => {
    const index = Number(position)
    chargeCall(call, value.length * stepsOfCharacter)
    if (index === 0) throw badValue(call, 'the part 0', 'Count parts from 1, or from -1 at the end.')
    const parts = delimiter === '' ? [value] : value.split(delimiter)
    return (index > 0 ? parts[index - 1] : parts.at(index)) ?? ''
  })
}

/** The text before the nth delimiter or, counted from the end, after it. */
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

const encodings = ['base64', 'base64pad', 'hex'] as const

/** The encoding of a call, which must be constant. */
function encodingOf(call: Call): (typeof encodings)[number] {
  const name = constantArgument(call, 1)
  const known = encodings.find((encoding) => encoding === name)
  if (known) return known
  const problem = `the encoding ${excerpt(String(name))}`
  throw refuse(call.scope, call.at, problem, `Use one of ${encodings.join(', ')}.`)
}

/** An argument of bytes; a text counts as its UTF-8 bytes. */
function bytesArgument(call: Call): Plan {
  const arg = call.args[0]!
  return isBytes(arg.type) ? arg : cast(call.scope, textArgument(call, 0), bytes, call.at)
}

const encode: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const encoding = encodingOf(call)
  return strictCall(call, text, [bytesArgument(call)], (value: Uint8Array) => {
    checkLength(call, value.length * 2)
    const written = Buffer.from(value).toString(encoding === 'hex' ? 'hex' : 'base64')
    return encoding === 'base64' ? written.replace(/=+$/, '') : written
  })
}

export const textPartFunctions: Record<string, FunctionPlanner> = {
  split_part: splitPart,
  substr_index: substringIndex,
  substring_index: substringIndex,
  chr: character,
  to_hex: hexadecimal,
  encode,
}

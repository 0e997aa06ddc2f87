import { createHash } from 'node:crypto'
import type { DataType } from '@uwdata/flechette'
import { EditDistance, editDistance } from '../../../base/model/nearest.ts'
import type { FunctionKernel, LikePlan, Plan, Scalar } from '../plan/plan.ts'
import { boolean, bytes, integer, isBytes, text } from '../plan/types.ts'
import { inPieces, stepsOfPiece } from '../work.ts'
import {
  asText,
  type Call,
  chargeCall,
  checkJoined,
  checkLength,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  looseCall,
  stepsOfCharacter,
  strictCall,
  textArgument,
} from './signature.ts'

type Kind = typeof textArgument

/** A function on one text; `kind` determines whether other types are converted to text. */
function ofText(
  type: DataType,
  count: number,
  kind: Kind,
  make: (call: Call) => (...texts: string[]) => Scalar,
  kernel?: FunctionKernel,
): FunctionPlanner {
  return (call) => {
    expectArguments(call, count)
    return strictCall(
      call,
      type,
      call.args.map((_, i) => kind(call, i)),
      make(call) as (...texts: never[]) => Scalar,
      kernel,
    )
  }
}

/** Steps for a character that is looked up in Unicode's tables. */
const stepsOfLetter = 120

const ofKind =
  (kind: Kind) =>
  (type: DataType, evaluate: (...texts: string[]) => Scalar, count = 1, kernel?: FunctionKernel) =>
    ofText(type, count, kind, () => evaluate, kernel)
const simple = ofKind(textArgument)
const lenient = ofKind(asText)

/** Charges the steps of a function that splits texts, beyond those that all functions take for a character. */
const apart =
  (steps: number, evaluate: (...texts: string[]) => Scalar) =>
  (call: Call): ((...texts: string[]) => Scalar) =>
  (...texts) => {
    chargeCall(call, texts.reduce((sum, text) => sum + text.length, 0) * steps)
    return evaluate(...texts)
  }

/** A test for a substring. With a constant one it becomes a `LIKE`, which can use statistics and fast loops. */
function partTest(
  test: (value: string, part: string) => boolean,
  pattern: (part: string) => NonNullable<LikePlan['pattern']>,
): FunctionPlanner {
  const general = simple(boolean, (value = '', part = '') => test(value, part), 2)
  return (call) => {
    const plan = general(call)
    if (plan.kind !== 'call') return plan
    const part = plan.args[1]!
    if (part.kind !== 'literal' || part.value === null) return plan
    const parts = pattern(part.value as string).filter((part) => part !== '')
    return {
      kind: 'like',
      type: boolean,
      arg: plan.args[0]!,
      pattern: parts,
      insensitive: false,
      negated: false,
    }
  }
}

const any = { any: 'many' } as const

function codePoints(value: string): number {
  let count = value.length
  for (let i = 0; i < value.length - 1; i++) {
    const unit = value.charCodeAt(i)
    if (unit >= 0xd800 && unit < 0xdc00) {
      count--
      i++
    }
  }
  return count
}

/** The position of a substring, in characters from 1; 0 if it does not occur. */
function positionOf(value: string, part: string): number {
  const index = value.indexOf(part)
  return index < 0 ? 0 : codePoints(value.slice(0, index)) + 1
}

function capitalize(value: string): string {
  let start = true
  let result = ''
  for (const char of value) {
    result += start ? char.toUpperCase() : char.toLowerCase()
    start = !/[\p{Alphabetic}\p{N}]/u.test(char)
  }
  return result
}

/** Trims characters from one end or both; with one argument, spaces. */
function trim(start: boolean, end: boolean): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1, 2)
    const args = call.args.map((_, i) => textArgument(call, i))
    return strictCall(call, text, args, (value: string, set = ' ') => {
      chargeCall(call, value.length * stepsOfCharacter)
      const chars = Array.from(value)
      const unwanted = new Set(set)
      let from = 0
      let to = chars.length
      while (start && from < to && unwanted.has(chars[from]!)) from++
      while (end && to > from && unwanted.has(chars[to - 1]!)) to--
      return chars.slice(from, to).join('')
    })
  }
}

/** The first or last characters; with a negative count, all except that many at the other end. */
function side(take: (chars: readonly string[], count: number) => readonly string[]): FunctionPlanner {
  return (call) => {
    expectArguments(call, 2)
    const args = [asText(call, 0), integerArgument(call, 1)]
    return strictCall(call, text, args, (value: string, count: bigint) => {
      chargeCall(call, value.length * stepsOfCharacter)
      return take(Array.from(value), Number(count)).join('')
    })
  }
}

const repeat: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const args = [textArgument(call, 0), integerArgument(call, 1)]
  return strictCall(call, text, args, (value: string, count: bigint) => {
    const times = Math.max(0, Number(count))
    checkLength(call, value.length * times)
    return value.repeat(times)
  })
}

/** Pads to a length with spaces or another text, or cuts to it. */
function pad(left: boolean): FunctionPlanner {
  return (call) => {
    expectArguments(call, 2, 3)
    const args: Plan[] = [asText(call, 0), integerArgument(call, 1)]
    if (call.args.length === 3) args.push(asText(call, 2))
    return strictCall(call, text, args, (value: string, length: bigint, fill = ' ') => {
      const wanted = Math.max(0, Number(length))
      checkLength(call, wanted)
      chargeCall(call, (value.length + wanted) * stepsOfCharacter)
      const chars = Array.from(value)
      if (chars.length >= wanted) return chars.slice(0, wanted).join('')
      const filling = Array.from(fill)
      if (filling.length === 0) return value
      const missing = wanted - chars.length
      const rest = filling.slice(0, missing % filling.length)
      const added = fill.repeat(Math.floor(missing / filling.length)) + rest.join('')
      return left ? added + value : value + added
    })
  }
}

const replace = ofText(text, 3, textArgument, (call) => (value = '', from = '', to = '') => {
  chargeCall(call, value.length * stepsOfCharacter)
  const pieces = from === '' ? ['', ...Array.from(value), ''] : value.split(from)
  checkLength(call, value.length + (pieces.length - 1) * to.length)
  return pieces.join(to)
})

const translate = ofText(
  text,
  3,
  asText,
  apart(stepsOfLetter, (value = '', from = '', to = '') => {
    const targets = Array.from(to)
    const map = new Map<string, string>()
    for (const [i, char] of Array.from(from).entries()) if (!map.has(char)) map.set(char, targets[i] ?? '')
    return Array.from(value, (char) => map.get(char) ?? char).join('')
  }),
)

/** Steps to compare 32 characters of one text with a character of the other, and to split a text. */
const stepsOfWord = 16

const levenshtein = ofText(integer, 2, textArgument, (call) => (a = '', b = '') => {
  // The work grows with the product of the lengths, memory with the length and the number of different characters.
  checkLength(call, (a.length * b.length) / 64)
  chargeCall(call, (a.length + b.length) * stepsOfCharacter)
  const steps = Math.ceil(Math.min(a.length, b.length) / 32) * Math.max(a.length, b.length) * stepsOfWord
  if (steps <= stepsOfPiece) {
    chargeCall(call, steps)
    return editDistance(a, b)
  }
  return inPieces(`levenshtein ${a.length} ${a} ${b}`, steps, call.name, call.at, () => {
    const distance = new EditDistance(a, b)
    return {
      advance: (most) => distance.advance(most / stepsOfWord) * stepsOfWord,
      get result() {
        return distance.result
      },
    }
  })
})

const findInSet = ofText(
  integer,
  2,
  asText,
  apart(stepsOfCharacter, (value = '', set = '') => set.split(',').indexOf(value) + 1),
)

const concat: FunctionPlanner = (call) => {
  expectArguments(call, 1, Infinity)
  const args = call.args.map((_, i) => asText(call, i))
  return looseCall(call, text, args, (...values) => join(call, '', values))
}

const concatWithSeparator: FunctionPlanner = (call) => {
  expectArguments(call, 2, Infinity)
  const args = call.args.map((_, i) => asText(call, i))
  return looseCall(call, text, args, (separator = null, ...values) =>
    separator === null ? null : join(call, separator as string, values),
  )
}

function join(call: Call, separator: string, values: readonly Scalar[]): string {
  const texts = values.filter((value) => value !== null) as string[]
  checkJoined(call, texts, separator)
  return texts.join(separator)
}

/** Whether a text has all the words of another one. Words are separated by anything but letters and digits. */
const containsTokens = ofText(
  boolean,
  2,
  textArgument,
  apart(stepsOfLetter, (value = '', wanted = '') => {
    const words = new Set(wordsOf(value))
    return wordsOf(wanted).every((word) => words.has(word))
  }),
)

function wordsOf(value: string): string[] {
  return value.split(/[^\p{Alphabetic}\p{N}]+/u).filter((word) => word !== '')
}

function hash(algorithm: string, type: DataType): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1)
    const [arg] = call.args
    const plan = isBytes(arg!.type) ? arg! : textArgument(call, 0)
    return strictCall(call, type, [plan], (value: string | Uint8Array) => {
      const digest = createHash(algorithm).update(value)
      return type === text ? digest.digest('hex') : Uint8Array.from(digest.digest())
    })
  }
}

const length = lenient(integer, (value = '') => codePoints(value), 1, {
  kind: 'textLength',
  of: 'characters',
})
const textPosition = simple(integer, (value = '', part = '') => positionOf(value, part), 2)

export const textFunctions: Record<string, FunctionPlanner> = {
  lower: simple(text, (value = '') => value.toLowerCase(), 1, { kind: 'letters', to: 'small' }),
  upper: simple(text, (value = '') => value.toUpperCase(), 1, { kind: 'letters', to: 'capital' }),
  length,
  char_length: length,
  character_length: length,
  octet_length: simple(integer, (value = '') => Buffer.byteLength(value), 1, {
    kind: 'textLength',
    of: 'bytes',
  }),
  bit_length: simple(integer, (value = '') => Buffer.byteLength(value) * 8),
  reverse: ofText(
    text,
    1,
    asText,
    apart(stepsOfCharacter, (value = '') => Array.from(value).reverse().join('')),
  ),
  initcap: ofText(
    text,
    1,
    textArgument,
    apart(stepsOfLetter, (value = '') => capitalize(value)),
  ),
  ascii: simple(integer, (value = '') => value.codePointAt(0) ?? 0),
  ltrim: trim(true, false),
  rtrim: trim(false, true),
  btrim: trim(true, true),
  starts_with: partTest(
    (value, part) => value.startsWith(part),
    (part) => [part, any],
  ),
  ends_with: partTest(
    (value, part) => value.endsWith(part),
    (part) => [any, part],
  ),
  contains_tokens: containsTokens,
  contains: partTest(
    (value, part) => value.includes(part),
    (part) => [any, part, any],
  ),
  strpos: textPosition,
  instr: textPosition,
  position: textPosition,
  left: side((chars, count) => chars.slice(0, count)),
  right: side((chars, count) => (count === 0 ? [] : chars.slice(-count))),
  repeat,
  lpad: pad(true),
  rpad: pad(false),
  replace,
  translate,
  levenshtein,
  find_in_set: findInSet,
  concat,
  concat_ws: concatWithSeparator,
  md5: hash('md5', text),
  sha224: hash('sha224', bytes),
  sha256: hash('sha256', bytes),
  sha384: hash('sha384', bytes),
  sha512: hash('sha512', bytes),
}

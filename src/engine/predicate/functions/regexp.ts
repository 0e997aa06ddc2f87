import { RE2JS } from 're2js'
import type { CatalogError } from '../../../base/errors.ts'
import { excerpt } from '../errors.ts'
import { isLiteral } from '../plan/fold.ts'
import { literal } from '../plan/literals.ts'
import type { Plan } from '../plan/plan.ts'
import { refuse } from '../plan/scope.ts'
import { boolean, listOf, long, text } from '../plan/types.ts'
import { maxStepsAtOnce } from '../work.ts'
import {
  asText,
  badValue,
  type Call,
  chargeCall,
  checkLength,
  constantArgument,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  looseCall,
  strictCall,
  textArgument,
} from './signature.ts'

/** How many compiled patterns are kept for a call whose pattern differs between rows. */
const keptPatterns = 256

/** The largest compiled pattern. Matching takes time in proportion to the text and to this size, for any pattern. */
const maxInstructions = 5_000

/** Steps to compile a character of a pattern, and a class such as `\\d`, which has hundreds of ranges. */
const stepsOfPattern = 2_000
const stepsOfClass = 300_000
const stepsOfInstruction = 200
/** Steps for each match found, where there may be many. */
const stepsOfMatch = 800
/** Steps for each character of a text, and for each instruction that it may execute. */
const stepsOfCharacter = 50

const flagBits: Record<string, number> = { i: RE2JS.CASE_INSENSITIVE, m: RE2JS.MULTILINE, s: RE2JS.DOTALL }

/** Compiles patterns of a call; `flags` is the index of the argument with the flags. */
function compiler(call: Call, pattern: Plan, flags: number, allowed: string): (source: string) => RE2JS {
  const letters = constantArgument(call, flags) ?? ''
  if (typeof letters !== 'string')
    throw refuse(call.scope, call.at, `flags of ${call.name} that are no string`, "Write for example 'i'.")
  let bits = 0
  for (const letter of letters) {
    if (!allowed.includes(letter)) {
      const problem = `the flag ${excerpt(letter)} of ${call.name}`
      throw refuse(call.scope, call.at, problem, `It takes the flags ${Array.from(allowed).join(', ')}.`)
    }
    bits |= flagBits[letter] ?? 0
  }
  const known = new Map<string, RE2JS>()
  const compile = (source: string, fail: Fail): RE2JS => {
    let expression = known.get(source)
    if (!expression) {
      const classes = source.match(/\\[dDwWsSpP]/g)?.length ?? 0
      const steps = source.length * stepsOfPattern + classes * stepsOfClass
      if (steps > maxStepsAtOnce) throw tooLarge(source, fail)
      chargeCall(call, steps)
      expression = compileOne(source, bits, fail)
      chargeCall(call, expression.programSize() * stepsOfInstruction)
      if (known.size >= keptPatterns) known.clear()
      known.set(source, expression)
    }
    return expression
  }
  if (isLiteral(pattern) && pattern.value !== null) {
    compile(pattern.value as string, (...what) => refuse(call.scope, call.at, ...what))
  }
  return (source) => compile(source, (...what) => badValue(call, ...what))
}

/** Creates the error for a pattern: of the predicate, or of a row. */
type Fail = (problem: string, remedy: string, options?: { cause?: unknown }) => CatalogError

function compileOne(source: string, bits: number, fail: Fail): RE2JS {
  let expression: RE2JS
  try {
    expression = RE2JS.compile(translatePattern(source), bits)
  } catch (cause) {
    const reason = (cause as Error).message.slice(0, 200)
    const problem = `the pattern ${excerpt(source)}, which is no regular expression (${reason}),`
    throw fail(problem, 'Use the syntax of RE2.', { cause })
  }
  if (expression.programSize() <= maxInstructions) return expression
  throw tooLarge(source, fail)
}

function tooLarge(source: string, fail: Fail): CatalogError {
  const problem = `the pattern ${excerpt(source)}, which is too large`
  return fail(problem, 'Repeat less, or test for several smaller patterns.')
}

/** A matcher of a text. It charges its steps, which grow with the text and the pattern. */
function matcherOf(call: Call, expression: RE2JS, value: string): Matcher {
  chargeCall(call, value.length * (stepsOfCharacter + expression.programSize()))
  return expression.matcher(value)
}

const like: FunctionPlanner = (call) => {
  expectArguments(call, 2, 3)
  const args = [textArgument(call, 0), textArgument(call, 1)]
  const compile = compiler(call, args[1]!, 2, 'ims')
  return strictCall(call, boolean, args, (value: string, pattern: string) =>
    matcherOf(call, compile(pattern), value).find(),
  )
}

/** The first match's groups, or the match if there are no groups; null if nothing matches. */
const match: FunctionPlanner = (call) => {
  expectArguments(call, 2, 3)
  const args = [asText(call, 0), asText(call, 1)]
  const compile = compiler(call, args[1]!, 2, 'ims')
  return strictCall(call, listOf(text), args, (value: string, pattern: string) => {
    const matcher = matcherOf(call, compile(pattern), value)
    if (!matcher.find()) return null
    const groups = matcher.groupCount()
    if (groups === 0) return [matcher.group()]
    return Array.from({ length: groups }, (_, i) => matcher.group(i + 1) ?? null)
  })
}

/** The text from a character on, counted from 1. */
function from(call: Call, value: string, start: bigint): string {
  if (start < 1n) throw badValue(call, `the start ${start}`, 'Characters are counted from 1.')
  return start === 1n
    ? value
    : Array.from(value)
        .slice(Number(start) - 1)
        .join('')
}

const count: FunctionPlanner = (call) => {
  expectArguments(call, 2, 4)
  const args = [asText(call, 0), asText(call, 1)]
  const compile = compiler(call, args[1]!, 3, 'ims')
  if (call.args.length > 2) args.push(integerArgument(call, 2))
  return looseCall(call, long, args, (value = null, pattern = null, start = 1n) => {
    if (value === null || pattern === null) return 0n
    const first = (start ?? 1n) as bigint
    const rest = from(call, value as string, first)
    // The position after the last character is still part of the text.
    if (rest === '' && first > BigInt(Array.from(value as string).length + 1)) return 0n
    const matcher = matcherOf(call, compile(pattern as string), rest)
    let found = 0n
    while (matcher.find()) {
      chargeCall(call, stepsOfMatch)
      found++
    }
    return found
  })
}

/** The start of the nth match, counted in characters from 1; 0 if there is none. */
const matchPosition: FunctionPlanner = (call) => {
  expectArguments(call, 2, 5)
  const args = [asText(call, 0), asText(call, 1)]
  const compile = compiler(call, args[1]!, 4, 'ims')
  for (let i = 2; i < Math.min(call.args.length, 4); i++) args.push(integerArgument(call, i))
  // In the reference the empty pattern matches nowhere, not even in an empty text.
  if (isLiteral(args[1]!) && args[1].value === '') return literal(long, 0n)
  return strictCall(call, long, args, (value: string, pattern: string, start = 1n, nth = 1n) => {
    if (nth < 1n) throw badValue(call, `the match ${nth}`, 'Matches are counted from 1.')
    const rest = from(call, value, start)
    if (pattern === '' || (start > 1n && rest === '')) return 0n
    const matcher = matcherOf(call, compile(pattern), rest)
    for (let left = nth; matcher.find(); left--) {
      chargeCall(call, stepsOfMatch)
      if (left === 1n) return start + BigInt(Array.from(rest.slice(0, matcher.start())).length)
    }
    return 0n
  })
}

const replace: FunctionPlanner = (call) => {
  expectArguments(call, 3, 4)
  const args = [textArgument(call, 0), textArgument(call, 1), textArgument(call, 2)]
  const compile = compiler(call, args[1]!, 3, 'gims')
  const all = String(constantArgument(call, 3) ?? '').includes('g')
  return strictCall(call, text, args, (value: string, pattern: string, replacement: string) => {
    const matcher = matcherOf(call, compile(pattern), value)
    let result = ''
    let end = 0
    while (matcher.find()) {
      chargeCall(call, stepsOfMatch)
      result += value.slice(end, matcher.start())
      let { length } = result
      result += expand(replacement, (group) => {
        const text = groupOf(matcher, group)
        // Checked in advance: a replacement may repeat a long group many times.
        length += text.length
        checkLength(call, length)
        return text
      })
      checkLength(call, result.length)
      end = matcher.end()
      if (!all) break
    }
    return result + value.slice(end)
  })
}

type Matcher = ReturnType<RE2JS['matcher']>

function groupOf(matcher: Matcher, group: string): string {
  const index = Number(group)
  if (Number.isInteger(index)) return index <= matcher.groupCount() ? (matcher.group(index) ?? '') : ''
  try {
    return matcher.group(group) ?? ''
  } catch {
    return ''
  }
}

/** Fills in the references of a replacement: `\1`, `$1`, `$name`, `${name}`; `$$` is a dollar. */
function expand(replacement: string, group: (name: string) => string): string {
  return replacement.replace(/\\(\d+)|\$(\$|[0-9A-Za-z_]+|\{[^}]*\})/g, (_, digits?: string, name = '') => {
    if (digits !== undefined) return group(digits)
    return name === '$' ? '$' : group(name.replace(/^\{|\}$/g, ''))
  })
}

export const regexpFunctions: Record<string, FunctionPlanner> = {
  regexp_like: like,
  regexp_match: match,
  regexp_count: count,
  regexp_instr: matchPosition,
  regexp_replace: replace,
}

const digits = '\\p{Nd}'
const wordClass = '\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200C}\\x{200D}'
const spaceClass =
  '\\t\\n\\x{B}\\f\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}'

/**
 * Translates a pattern for RE2 so that it keeps the meaning of the reference, where `\d`, `\s` and `\w` include all of
 * Unicode. Their negations within brackets remain ASCII.
 */
function translatePattern(pattern: string): string {
  let result = ''
  let inClass = false
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i]!
    if (char === '\\') {
      const next = pattern[++i] ?? ''
      result += escaped(next, inClass)
    } else {
      if (char === '[') {
        if (inClass && pattern[i + 1] === ':') {
          const end = pattern.indexOf(':]', i)
          if (end > 0) {
            result += pattern.slice(i, end + 2)
            i = end + 1
            continue
          }
        }
        inClass = true
        result += char
        // A bracket directly at the start of a class is one of its characters.
        if (pattern[i + 1] === '^') result += pattern[++i]
        if (pattern[i + 1] === ']') result += `\\${pattern[++i]}`
        continue
      }
      if (char === ']') inClass = false
      result += char
    }
  }
  return result
}

function escaped(letter: string, inClass: boolean): string {
  switch (letter) {
    case 'd':
      return digits
    case 'D':
      return '\\P{Nd}'
    case 'w':
      return inClass ? wordClass : `[${wordClass}]`
    case 's':
      return inClass ? spaceClass : `[${spaceClass}]`
    case 'W':
      return inClass ? '\\W' : `[^${wordClass}]`
    case 'S':
      return inClass ? '\\S' : `[^${spaceClass}]`
    default:
      return `\\${letter}`
  }
}

import { charge } from '../work.ts'
import { fold, isLiteral } from './fold.ts'
import { comparePlan } from './operators.ts'
import type { LikePlan, Plan } from './plan.ts'
import { cast, refuse, type Scope } from './scope.ts'
import { boolean, isBytes, isNull, isText, text, typeName } from './types.ts'

/** `arg LIKE pattern`. */
export function likePlan(
  scope: Scope,
  arg: Plan,
  pattern: Plan,
  options: { readonly escapedBy: string; readonly insensitive: boolean; readonly negated: boolean },
  at: number,
): Plan {
  for (const { type } of [arg, pattern]) {
    if (!isText(type) && !isNull(type) && !isBytes(type)) {
      const name = options.insensitive ? 'ILIKE' : 'LIKE'
      throw refuse(scope, at, `${name} over a value of type ${typeName(type)}`, 'CAST it to STRING first.')
    }
  }
  const value = cast(scope, arg, text, at)
  const wanted = cast(scope, pattern, text, at)
  const { escapedBy, insensitive, negated } = options
  const known = isLiteral(wanted) ? (wanted.value as string | null) : undefined
  const isPlain = typeof known === 'string' && !/[%_]/.test(known) && !known.includes(escapedBy)
  const isAnything = known === '%' || (escapedBy !== '%' && /^%+$/.test(known ?? ''))
  // The reference does not resolve escapes in a pattern without wildcards, in one that matches everything, and in NULL.
  const needsEscape = known === undefined || (known !== null && !isAnything && (insensitive || !isPlain))
  if (escapedBy !== '\\' && needsEscape) {
    const problem = 'another escape character than the backslash is not supported by this catalog, but stands'
    throw refuse(scope, at, problem, "Escape with '\\', which needs no ESCAPE.")
  }
  if (isLiteral(wanted) && !isLiteral(value)) {
    // A pattern without wildcards is a comparison, which removes casts.
    if (isPlain && !insensitive) return comparePlan(scope, negated ? '<>' : '=', value, wanted, at)
    const parsed = wanted.value === null ? null : parseLikePattern(wanted.value as string)
    return { kind: 'like', type: boolean, arg: value, pattern: parsed, insensitive, negated }
  }
  const evaluate = (string: unknown, like: unknown) =>
    matchLike(parseLikePattern(like as string), string as string, insensitive, at) !== negated
  return fold({
    kind: 'call',
    type: boolean,
    function: { name: 'like', strict: true, evaluate },
    args: [value, wanted],
    at,
  })
}

/** `left || right`: one side is text, the other is converted to text. */
export function concatPlan(scope: Scope, left: Plan, right: Plan, at: number): Plan {
  if (!isText(left.type) && !isText(right.type)) {
    const problem = `|| between ${typeName(left.type)} and ${typeName(right.type)}`
    throw refuse(scope, at, problem, 'CAST one of them to STRING.')
  }
  const args = [cast(scope, left, text, at), cast(scope, right, text, at)]
  const evaluate = (a: unknown, b: unknown) => (a as string) + (b as string)
  return fold({ kind: 'call', type: text, function: { name: '||', strict: true, evaluate }, args, at })
}

/**
 * Splits a pattern of LIKE into literal text and wildcards. A backslash makes the next character literal. At the end of
 * the pattern, it is literal itself.
 */
function parseLikePattern(pattern: string): NonNullable<LikePlan['pattern']> {
  const parts: (string | { readonly any: 'one' | 'many' })[] = []
  let literal = ''
  const flush = () => {
    if (literal !== '') parts.push(literal)
    literal = ''
  }
  const chars = Array.from(pattern)
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i]!
    if (char === '\\' && i + 1 < chars.length) {
      literal += chars[++i]
    } else if (char === '%' || char === '_') {
      flush()
      parts.push({ any: char === '_' ? 'one' : 'many' })
    } else {
      literal += char
    }
  }
  flush()
  return parts
}

/** Whether a text matches a pattern of LIKE. Retries the last wildcard only, so that time is not exponential. */
function matchLike(
  pattern: NonNullable<LikePlan['pattern']>,
  text: string,
  insensitive: boolean,
  where: number,
): boolean {
  const fold = insensitive ? foldCase : (char: string) => char
  const wanted: (string | { readonly any: 'one' | 'many' })[] = []
  for (const part of pattern) {
    if (typeof part === 'string') wanted.push(...Array.from(part, fold))
    else wanted.push(part)
  }
  const chars = Array.from(text, fold)
  let at = 0
  let next = 0
  let retryAt = -1
  let retryNext = -1
  let left = announcedAtOnce
  while (at < chars.length) {
    if (--left === 0) {
      charge(announcedAtOnce * 10, 'LIKE', where)
      left = announcedAtOnce
    }
    const part = wanted[next]
    if (typeof part === 'object' && part.any === 'many') {
      retryAt = at
      retryNext = ++next
    } else if (part !== undefined && (typeof part === 'object' || part === chars[at])) {
      at++
      next++
    } else if (retryNext >= 0) {
      at = ++retryAt
      next = retryNext
    } else {
      return false
    }
  }
  return wanted.slice(next).every((part) => typeof part === 'object' && part.any === 'many')
}

/** Comparisons that are charged together. */
const announcedAtOnce = 10_000

/** Maps characters that differ in case only to one. */
function foldCase(char: string): string {
  const upper = char.toUpperCase()
  const lower = (upper.length === char.length ? upper : char).toLowerCase()
  return lower.length === char.length ? lower : char
}

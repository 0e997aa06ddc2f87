import type { LikePlan } from './plan.ts'

/**
 * Splits a pattern of LIKE into literal text and wildcards. A backslash makes the next character literal. At the end of
 * the pattern, it is literal itself.
 */
export function parseLikePattern(pattern: string): NonNullable<LikePlan['pattern']> {
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

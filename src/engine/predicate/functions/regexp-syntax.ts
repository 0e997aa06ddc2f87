const digits = '\\p{Nd}'
const wordClass = '\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200C}\\x{200D}'
const spaceClass =
  '\\t\\n\\x{B}\\f\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}'

/**
 * Translates a pattern for RE2 so that it keeps the meaning of the reference, where `\d`, `\s` and `\w` include all of
 * Unicode. Their negations within brackets remain ASCII.
 */
export function translatePattern(pattern: string): string {
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

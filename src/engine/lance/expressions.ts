import { invalid, unsupported } from '../../base/errors.ts'

/** Texts, quoted names, comments and parentheses of SQL. */
const tokens = /'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|\/\*[\s\S]*?\*\/|[()]/g

/**
 * A predicate or an expression in parentheses. Lance reads the expression with which a text begins, and leaves the rest:
 * by `id = 1 nad n = 2` it would delete all rows with that id.
 */
export function wholeExpression(text: string): string
export function wholeExpression(text: string | undefined): string | undefined
export function wholeExpression(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  let depth = 0
  for (const [token] of text.matchAll(tokens)) {
    if (token === '(') depth++
    else if (token === ')' && --depth < 0) {
      throw invalid(`Invalid expression: a ")" has no "(" before it in ${shortened(text)}. Remove one.`)
    }
  }
  // A comment at the end would take the last parenthesis.
  return `(${text}\n)`
}

/**
 * Refuses an update whose values name other columns that it sets. Lance sets one column after the other, in any order,
 * so such a value would come from the row as it was, or as it will be.
 */
export function requireOldValues(updates: readonly (readonly [column: string, expression: string])[]): void {
  for (const [column, expression] of updates) {
    const names = expression.replaceAll(/'[^']*'/g, ' ').toLowerCase()
    const words: readonly string[] = names.match(/[\p{L}\p{N}_]+/gu) ?? []
    const other = updates.find(
      ([name]) =>
        name !== column && words.includes(name.toLowerCase().replaceAll('`', '').split('.').at(-1)!),
    )
    if (other === undefined) continue
    throw unsupported(
      `The value of ${JSON.stringify(column)} names the column ${JSON.stringify(other[0])}, which the update sets too. Tables of Lance do not say whether it would be the old value.`,
      'Update one column after the other.',
    )
  }
}

function shortened(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}

import type { Command, Outcome } from './model/index.ts'

/*
 * Renders a history as TypeScript code. Locations and transaction ids become the expressions that returned them, such
 * as `r3.location`.
 */

/** A string from the catalog, and the expression that returned it. */
export interface Seen {
  readonly kind: 'L' | 'T' | 'I'
  readonly real: string
  readonly expression: string
}

/** Collects the locations, and the ids of transactions and dropped tables, in a response. */
export function seenIn(answer: unknown, expression: string): Seen[] {
  if (typeof answer !== 'object' || answer === null) return []
  return Object.entries(answer).flatMap(([key, value]) => {
    const path = Array.isArray(answer) ? `${expression}[${key}]` : `${expression}.${key}`
    if (typeof value !== 'string') return seenIn(value, path)
    if (key === 'location') return [{ kind: 'L', real: value, expression: path }]
    if (key === 'transaction_id') return [{ kind: 'T', real: value, expression: path }]
    if (key === 'table_id') return [{ kind: 'I', real: value, expression: path }]
    return []
  })
}

/** Renders calls. Those of one group run concurrently. */
export function renderGroup(
  first: number,
  commands: readonly Command[],
  outcomes: readonly Outcome[],
  seen: readonly Seen[],
  root: string,
): string {
  const calls = commands.map(({ operation, request }, i) => {
    const failed = 'error' in outcomes[i]!
    return `catalog.${operation}(${literal(request, seen, root)})${failed ? '.catch(() => undefined)' : ''}`
  })
  const notes = outcomes.map((outcome) =>
    'error' in outcome ? outcome.error : JSON.stringify(outcome.answer),
  )
  if (calls.length === 1) return `const r${first} = await ${calls[0]} // ${notes[0]}`
  const names = calls.map((_, i) => `r${first + i}`)
  const lines = calls.map((call, i) => `  ${call}, // ${notes[i]}`)
  return `const [${names.join(', ')}] = await Promise.all([\n${lines.join('\n')}\n])`
}

function literal(request: object, seen: readonly Seen[], root: string): string {
  return JSON.stringify(request).replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => {
    const text = JSON.parse(quoted) as string
    const found = seen.find(({ real }) => real === text)
    if (found) return found.expression
    return text.startsWith(root) ? `\`\${root}${text.slice(root.length)}\`` : quoted
  })
}

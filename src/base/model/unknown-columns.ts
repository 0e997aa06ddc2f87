import { quote } from './identifier.ts'
import { nearest } from './nearest.ts'

/** Most names in a message. */
const maxNamed = 20

/**
 * The message for columns of rows that a table, or a schema, does not have: their names, the names that it has, the nearest
 * of them, and the next step. Rows in every format are refused by it, so that no value is left out unnoticed.
 */
export function unknownColumns(
  unknown: readonly string[],
  known: readonly string[],
  holder: 'table' | 'schema' = 'table',
): string {
  const [columns, are, them] = unknown.length === 1 ? ['Column', 'is', 'it'] : ['Columns', 'are', 'them']
  const near = new Set(
    unknown.slice(0, maxNamed).flatMap((name) => (name.length > 1 && nearest(name, known)) || []),
  )
  const hint = near.size === 0 ? '' : ` Did you mean ${listed([...near])}?`
  const has = known.length === 0 ? 'no columns' : listed(known)
  return `${columns} ${listed(unknown)} ${are} not in the ${holder}, which has ${has}.${hint} Leave ${them} out, or add ${them} to the ${holder} first.`
}

function listed(names: readonly string[]): string {
  const more = names.length - maxNamed
  const shown = names.slice(0, maxNamed).map(quote)
  if (more > 0) shown.push(`${more.toLocaleString('en')} more`)
  return shown.length === 1 ? shown[0]! : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

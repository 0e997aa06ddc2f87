import { CatalogError } from '../errors.ts'
import { quote } from './identifier.ts'

/** Most names of indexes that an error lists. */
const most = 20

/** The error for a table that has no index of a name. `names` are those that it has. */
export function noIndex(name: string, names: readonly string[]): CatalogError {
  const listed = names.slice(0, most).map(quote).join(', ')
  const more = names.length > most ? ` and ${names.length - most} more` : ''
  const there = names.length === 0 ? 'It has none; create one first.' : `Its indexes are ${listed}${more}.`
  return new CatalogError('TableIndexNotFound', `The table has no index ${quote(name)}. ${there}`)
}

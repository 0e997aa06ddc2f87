import { joinIdentifier } from '../listing/paging.ts'
import { defaultDelimiter } from '../model/identifier.ts'

/**
 * Gives the identifiers of a listing the delimiter that was asked for. They travel joined by `$`, which no name
 * holds, because some delimiters mean something else in a URL. Fails as a catalog does that is here.
 */
export function rejoin(answer: Record<string, unknown>, delimiter: string): Record<string, unknown> {
  if (delimiter === defaultDelimiter || !Array.isArray(answer.tables)) return answer
  const tables = answer.tables.map((table) =>
    joinIdentifier(String(table).split(defaultDelimiter), delimiter),
  )
  return { ...answer, tables }
}

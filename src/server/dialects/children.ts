import type { OperationName } from '../../catalog/operations/index.ts'
import type { Fields } from './dialect.ts'

/*
 * Some clients expect listings with the bare names of direct children. Their `page_token` is the last name of a page.
 */

/** Sorts before every name. The page token of a first page without names. */
const beforeAllNames = '\0'

/** Whether the `children` listing changes this operation's response. */
export function listsChildren(operation: OperationName): boolean {
  return operation === 'listTables' || operation === 'listNamespaces'
}

/** Translates a request whose page token is a name. */
export function childrenRequest(
  operation: OperationName,
  { page_token, delimiter: _, ...rest }: Fields,
): Fields {
  const start_after = page_token === '' || page_token === beforeAllNames ? undefined : page_token
  return { ...rest, start_after, ...(operation === 'listTables' ? { recursive: false } : {}) }
}

/** The response with bare names, and the last name as page token. */
export function childrenResponse(operation: OperationName, request: Fields, response: Fields): Fields {
  const field = operation === 'listTables' ? 'tables' : 'namespaces'
  const names = (response[field] as readonly string[]).map((name) =>
    // No name contains the default delimiter, so the table's own name follows the last delimiter.
    field === 'tables' ? name.slice(name.lastIndexOf('$') + 1) : name,
  )
  if (!response.page_token) return { ...response, [field]: names }
  return { ...response, [field]: names, page_token: names.at(-1) ?? request.start_after ?? beforeAllNames }
}

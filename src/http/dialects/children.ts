import type { OperationName } from '../../operations/index.ts'
import type { Fields } from './dialect.ts'

/*
 * Listings as some clients want them: the bare names of what is directly in a namespace, and as `page_token`
 * the name to go on after.
 */

/** Comes before every name. It is the token of a page that ended before the first one. */
const beforeAll = '\0'

/** Whether the `children` listing changes what this operation answers. */
export function listsChildren(operation: OperationName): boolean {
  return operation === 'listTables' || operation === 'listNamespaces'
}

/** The request that lists children, for one whose token is a name. */
export function childrenRequest(
  operation: OperationName,
  { page_token, delimiter: _, ...rest }: Fields,
): Fields {
  const start_after = page_token === '' || page_token === beforeAll ? undefined : page_token
  return { ...rest, start_after, ...(operation === 'listTables' ? { recursive: false } : {}) }
}

/** The response with bare names, its token the last of them. */
export function childrenResponse(operation: OperationName, request: Fields, response: Fields): Fields {
  const field = operation === 'listTables' ? 'tables' : 'namespaces'
  const names = (response[field] as readonly string[]).map((name) =>
    // No name holds the default delimiter, so what follows the last one is the table's own name.
    field === 'tables' ? name.slice(name.lastIndexOf('$') + 1) : name,
  )
  if (!response.page_token) return { ...response, [field]: names }
  return { ...response, [field]: names, page_token: names.at(-1) ?? request.start_after ?? beforeAll }
}

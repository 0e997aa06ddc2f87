import type { Dialect, Fields } from './dialect.ts'

/*
 * Clients that OpenAPI Generator makes from the protocol's OpenAPI file. Their `User-Agent` tells them:
 * `OpenAPI-Generator/0.11.1/java`. Two languages depart from the protocol.
 */

/** What a client does differently by its language, on top of another dialect. */
const departures: Readonly<Record<string, Pick<Dialect, 'plusIsSpace' | 'request'>>> = {
  // Encodes the identifier in the path like a form.
  rust: { plusIsSpace: true },
  // Writes an empty list for each list that was not set.
  java: { plusIsSpace: false, request: withoutEmptyLists },
}

const made = new Map<string, Dialect>()

/** The dialect of a generated client that otherwise has the dialect `base`; undefined for every other client. */
export function generatedDialect(userAgent: string | undefined, base: Dialect): Dialect | undefined {
  if (!userAgent?.startsWith('OpenAPI-Generator/')) return undefined
  const language = userAgent.slice(userAgent.lastIndexOf('/') + 1)
  if (!Object.hasOwn(departures, language)) return undefined
  const name = `${base.name}-${language}`
  const known = made.get(name)
  if (known !== undefined) return known
  const { plusIsSpace, request } = departures[language]!
  const dialect: Dialect = {
    ...base,
    name,
    plusIsSpace: base.plusIsSpace || plusIsSpace,
    request: (operation, given, headers) => {
      const rewritten = request?.(operation, given, headers) ?? given
      return base.request?.(operation, rewritten, headers) ?? rewritten
    },
  }
  made.set(name, dialect)
  return dialect
}

/**
 * The request without the lists that its client left empty. A rename then keeps the namespace, and names it, so that
 * the answer tells where the table is.
 */
function withoutEmptyLists(operation: string, request: Fields): Fields {
  const id = request.id
  return Object.fromEntries(
    Object.entries(request).flatMap(([name, value]): [string, unknown][] => {
      if (!Array.isArray(value) || value.length > 0 || name === 'id') return [[name, value]]
      return operation === 'renameTable' && name === 'new_namespace_id' && Array.isArray(id)
        ? [[name, id.slice(0, -1)]]
        : []
    }),
  )
}

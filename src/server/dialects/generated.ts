import type { Dialect, Fields } from './dialect.ts'

/*
 * Clients that OpenAPI Generator makes from the protocol's OpenAPI file. Their `User-Agent` tells them:
 * `OpenAPI-Generator/0.11.1/java`. They write the defaults of flags into the body, also of those that the query says.
 * Two languages depart from the protocol further.
 */

type Departure = Pick<Dialect, 'request'> & { readonly plusIsSpace?: boolean }

/** What a client does differently by its language, on top of another dialect. */
const departures: Readonly<Record<string, Departure>> = {
  // Encodes the identifier in the path like a form.
  rust: { plusIsSpace: true },
  // Writes an empty list or map for each one that was not set.
  java: { request: withoutEmpty },
  other: {},
}

const made = new Map<string, Dialect>()

/** The dialect of a generated client that otherwise has the dialect `base`; undefined for every other client. */
export function generatedDialect(userAgent: string | undefined, base: Dialect): Dialect | undefined {
  if (!userAgent?.startsWith('OpenAPI-Generator/')) return undefined
  const last = userAgent.slice(userAgent.lastIndexOf('/') + 1)
  const language = Object.hasOwn(departures, last) ? last : 'other'
  const name = `${base.name}-${language}`
  const known = made.get(name)
  if (known !== undefined) return known
  const { plusIsSpace = false, request } = departures[language]!
  const dialect: Dialect = {
    ...base,
    name,
    falseIsUnset: true,
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
 * The request without the lists that its client left empty, and without what is empty in its query. A rename then keeps
 * the namespace, and names it, so that the answer tells where the table is.
 */
function withoutEmpty(operation: string, request: Fields): Fields {
  const id = request.id
  return Object.fromEntries(
    Object.entries(request).flatMap(([name, value]): [string, unknown][] => {
      if (name === 'columns' && isMap(value)) return [[name, filled(value)]]
      if (name === 'query' && isMap(value)) return [[name, filledQuery(value)]]
      if (!Array.isArray(value) || value.length > 0 || name === 'id') return [[name, value]]
      return operation === 'renameTable' && name === 'new_namespace_id' && Array.isArray(id)
        ? [[name, id.slice(0, -1)]]
        : []
    }),
  )
}

/** What is set of a query: all but empty lists and maps. */
function filledQuery(query: Fields): Fields {
  return filled(isMap(query.columns) ? { ...query, columns: filled(query.columns) } : query)
}

function filled(given: Fields): Fields {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => !isEmpty(value)))
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0
}

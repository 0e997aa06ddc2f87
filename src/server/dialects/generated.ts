import type { Dialect, Fields } from './dialect.ts'

/*
 * Clients that OpenAPI Generator makes from the protocol's OpenAPI file. Their `User-Agent` identifies them:
 * `OpenAPI-Generator/0.11.1/java`. They write default values of flags into the body, also of flags in the query. Two
 * languages have further deviations.
 */

/** The beginning of their `User-Agent`. */
export const generatedAgent = 'OpenAPI-Generator/'

type Deviation = Pick<Dialect, 'request'> & { readonly plusIsSpace?: boolean }

/** The deviations of a client's language, in addition to another dialect. */
const deviations: Readonly<Record<string, Deviation>> = {
  // Form-encodes the identifier in the path.
  rust: { plusIsSpace: true },
  // Sends an empty list or map for each unset one.
  java: { request: withoutEmpty },
  other: {},
}

const dialects = new Map<string, Dialect>()

/** The dialect of a generated client, on top of the dialect `base`. */
export function generatedDialect(userAgent: string, base: Dialect): Dialect {
  const last = userAgent.slice(userAgent.lastIndexOf('/') + 1)
  const language = Object.hasOwn(deviations, last) ? last : 'other'
  const name = `${base.name}-${language}`
  const known = dialects.get(name)
  if (known !== undefined) return known
  const { plusIsSpace = false, request } = deviations[language]!
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
  dialects.set(name, dialect)
  return dialect
}

/**
 * The request without empty lists, and without empty lists and maps in its query. A rename with an empty namespace
 * keeps the table's own, and sends it explicitly, so that the response has the new identifier.
 */
function withoutEmpty(operation: string, request: Fields): Fields {
  const id = request.id
  return Object.fromEntries(
    Object.entries(request).flatMap(([name, value]): [string, unknown][] => {
      if (name === 'columns' && isMap(value)) return [[name, withoutEmptyValues(value)]]
      if (name === 'query' && isMap(value)) return [[name, withoutEmptyInQuery(value)]]
      if (!Array.isArray(value) || value.length > 0 || name === 'id') return [[name, value]]
      return operation === 'renameTable' && name === 'new_namespace_id' && Array.isArray(id)
        ? [[name, id.slice(0, -1)]]
        : []
    }),
  )
}

/** A query without empty lists and maps. */
function withoutEmptyInQuery(query: Fields): Fields {
  return withoutEmptyValues(
    isMap(query.columns) ? { ...query, columns: withoutEmptyValues(query.columns) } : query,
  )
}

function withoutEmptyValues(given: Fields): Fields {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => !isEmpty(value)))
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0
}

import { invalid } from '../base/errors.ts'
import { quote } from '../base/model/identifier.ts'
import type { QueryKind } from '../catalog/index.ts'

export type { QueryKind }

type Kinds = Readonly<Record<string, QueryKind>>

/** The query parameters of a request's fields. An absent field and null have none. */
export function encodeQuery(kinds: Kinds, request: Readonly<Record<string, unknown>>): [string, string][] {
  const pairs: [string, string][] = []
  for (const [name, kind] of Object.entries(kinds)) {
    const value = request[name]
    if (value === undefined || value === null) continue
    if (kind === 'texts' && Array.isArray(value)) for (const text of value) pairs.push([name, String(text)])
    else pairs.push([name, kind === 'map' ? JSON.stringify(value) : String(value)])
  }
  return pairs
}

/**
 * The fields of a query string, parsed by their kinds. Names that are not in `kinds` are ignored. An empty value counts
 * as absent, unless its kind is text. `InvalidInput` names a parameter whose value does not match its kind, and one
 * that is repeated and not of kind `texts`.
 */
export function decodeQuery(kinds: Kinds, query: URLSearchParams): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, text] of query) {
    if (!Object.hasOwn(kinds, name)) continue
    const kind = kinds[name]!
    if (Object.hasOwn(fields, name)) {
      if (kind !== 'texts') throw repeatedParameter(name)
      const before = fields[name]
      if (Array.isArray(before)) before.push(text)
      else fields[name] = [before, text]
      continue
    }
    if (text === '' && kind !== 'text' && kind !== 'texts') continue
    fields[name] = decodeValue(name, kind, text)
  }
  return fields
}

/** The value of a parameter that must not be repeated. Fails with `InvalidInput` when it is. */
export function singleValue(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name)
  if (values.length > 1) throw repeatedParameter(name)
  return values[0]
}

function decodeValue(name: string, kind: QueryKind, text: string): unknown {
  switch (kind) {
    case 'text':
    case 'texts':
      return text
    case 'integer':
      if (!/^-?\d{1,30}$/.test(text)) throw invalidParameter(name, 'a whole number, such as 100', text)
      return Number(text)
    case 'boolean':
      if (/^(true|1)$/i.test(text)) return true
      if (/^(false|0)$/i.test(text)) return false
      throw invalidParameter(name, 'true or false', text)
    case 'map':
      return decodeMap(name, text)
  }
}

function decodeMap(name: string, text: string): unknown {
  const expected = 'a JSON object, such as {"owner":"flights"}'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalidParameter(name, expected, text, cause)
  }
  if (value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidParameter(name, expected, text)
  return value
}

function invalidParameter(name: string, expected: string, text: string, cause?: unknown) {
  return invalid(`The query parameter ${name} must be ${expected}; it is ${quote(text)}.`, { cause })
}

function repeatedParameter(name: string) {
  return invalid(`The query parameter ${name} is there more than once. Give it once.`)
}

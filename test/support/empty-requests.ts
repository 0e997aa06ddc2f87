import { isDeepStrictEqual } from 'node:util'
import type * as v from 'valibot'
import { identifier, tableIdentifier } from '../../src/base/model/fields.ts'
import { type OperationName, operations } from '../../src/catalog/operations/index.ts'

type Schema = v.GenericSchema & {
  readonly wrapped?: Schema
  readonly item?: Schema
  readonly entries?: Readonly<Record<string, Schema>>
  readonly alternatives?: readonly Schema[]
  readonly pipe?: readonly (Schema & { readonly metadata?: { readonly type?: unknown } })[]
}
type Request = Readonly<Record<string, unknown>>

/**
 * Requests that ask for less than a valid one: each list and map of the schema empty, one by one and also within lists,
 * and at last without any field that may be absent.
 */
export function emptied(name: OperationName, valid: object): { readonly place: string; request: object }[] {
  const { request } = operations[name].definition as unknown as { readonly request: Schema }
  const found = placesIn(request, valid).map(([place, given]) => ({
    place: `${name}.${place}`,
    request: given as object,
  }))
  const least = { place: name, request: bare(request, valid) as object }
  return [...found, least].filter(({ request }) => !isDeepStrictEqual(request, valid))
}

/** All places below a value, each with the value in which it is empty. */
function placesIn(given: Schema, value: unknown, depth = 0): [place: string, emptied: unknown][] {
  const schema = innermost(given)
  if (schema === identifier || schema === tableIdentifier) return []
  const list = [schema, ...(schema.pipe ?? []), ...(schema.alternatives ?? [])].findLast(
    ({ type }) => type === 'array',
  )
  if (list) {
    const [first, ...others] = (Array.isArray(value) ? value : []) as unknown[]
    const within = first === undefined ? [] : placesIn(list.item!, first, depth + 1)
    return [
      ['', []],
      ...within.map(
        ([place, item]) =>
          [`[]${/^\w/.test(place) ? '.' : ''}${place}`, [item, ...others]] as [string, unknown],
      ),
    ]
  }
  if (schema.entries) {
    const old = value as Request
    const members = Object.entries(schema.entries).filter(
      ([name]) => !everywhere.has(name) && (depth === 0 || name in old),
    )
    const isSome = depth > 0 && Object.values(schema.entries).every(({ type }) => type === 'nullish')
    const below = members.flatMap(([name, member]) => {
      return placesIn(member, old[name], depth + 1).map(([place, emptied]): [string, unknown] => [
        `${name}${/^\w/.test(place) ? '.' : ''}${place}`,
        { ...old, [name]: emptied },
      ])
    })
    return isSome ? [['', {}], ...below] : below
  }
  return schema.pipe?.some(({ metadata }) => metadata?.type === 'object') ? [['', {}]] : []
}

/** The fields of every request. */
const everywhere = new Set(['identity', 'context'])

/** The value with those fields alone that must be there. */
function bare(given: Schema, value: unknown): unknown {
  const schema = innermost(given)
  const { item, entries } = schema
  if (item && Array.isArray(value)) return value.map((each) => bare(item, each))
  if (entries === undefined) return value
  return Object.fromEntries(
    Object.entries(value as Request)
      .filter(([name]) => !/^(?:nullish|optional)$/.test(entries[name]!.type))
      .map(([name, member]) => [name, bare(entries[name]!, member)]),
  )
}

function innermost(schema: Schema): Schema {
  return schema.wrapped ? innermost(schema.wrapped) : schema
}

import type * as v from 'valibot'
import { invalid } from '../../../base/errors.ts'
import { limits } from '../../../base/model/fields.ts'
import { quote } from '../../../base/model/identifier.ts'
import { nearest } from '../../../base/model/nearest.ts'
import type { AnyOperation } from './operation.ts'

/*
 * An unknown field that is ignored would give the answer to another question: a count of all rows, where `filter` was
 * meant as a predicate. So such a field is refused, at any depth. Null and undefined count as absent here as
 * everywhere.
 */

/**
 * Fails with `InvalidInput` for a field that the operation does not have, and names the nearest one. With `at`, looks at
 * a value below the request, which has a schema of its own.
 */
export function refuseUnknown(
  operation: AnyOperation,
  request: unknown,
  at?: { readonly schema: v.GenericSchema; readonly path: readonly (string | number)[] },
): void {
  const found = findUnknown(
    shapeOf(at?.schema ?? operation.request),
    request,
    at ? [] : operation.ignores,
    false,
  )
  if (found === undefined) return
  const { name, fields } = found
  const path = at ? [...at.path, ...found.path] : found.path
  const where = path.length === 0 ? '' : `: ${formatPath(path)}`
  if (found.isList) throw invalid(`${operation.name}${where} must be an object, and is a list.`)
  throw invalid(
    `${operation.name}${where} has no field ${quote(name.slice(0, 64))}. ${hintFor(name, fields)}`,
  )
}

/** Removes the fields that the operation does not have from a request. */
export function removeUnknown(operation: Pick<AnyOperation, 'request' | 'ignores'>, request: object): void {
  findUnknown(shapeOf(operation.request), request, operation.ignores, true)
}

/** The fields that the requests of an operation have. */
export function fieldsOf(request: v.GenericSchema): readonly string[] {
  return shapeOf(request)?.names ?? noFields
}

/** Whether a value that the schema takes may hold objects with fields of their own, below its own fields. */
export function holdsFields(schema: v.GenericSchema): boolean {
  const shape = shapeOf(schema)
  return shape?.entries === undefined ? shape !== undefined : [...shape.entries.values()].some(Boolean)
}

/** The path of a field, such as `operations[1].declare_table`. */
export function formatPath(path: readonly unknown[]): string {
  return path.reduce<string>(
    (text, key) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`,
    '',
  )
}

interface Unknown {
  /** The way to the object that has the field. */
  readonly path: (string | number)[]
  readonly name: string
  /** The fields that such an object may have. */
  readonly fields: readonly string[]
  /** Whether a list is where an object should be. To a schema of objects, a list is one without fields. */
  readonly isList?: boolean
}

/** Where objects with fields lie in the values of a schema. Values without any have no shape. */
interface Shape {
  /** The fields of an object, with the shapes of their values. */
  readonly entries?: ReadonlyMap<string, Shape | undefined>
  readonly names?: readonly string[]
  readonly isLoose?: boolean
  /** Whether it is a map, whose keys are the caller's. */
  readonly isMap?: boolean
  /** The shape of each item of a list. */
  readonly item?: Shape | undefined
  /** Further shapes of the same value. */
  readonly parts: readonly Shape[]
  /** The schema of a value that itself decides which one it has. */
  readonly getter?: ((value: unknown) => v.GenericSchema) | undefined
}

const noFields: readonly string[] = []
const shapes = new WeakMap<v.GenericSchema, { readonly shape: Shape | undefined }>()

function shapeOf(schema: v.GenericSchema): Shape | undefined {
  const known = shapes.get(schema)
  if (known !== undefined) return known.shape
  const shape = makeShape(schema)
  shapes.set(schema, { shape })
  return shape
}

function makeShape(schema: v.GenericSchema): Shape | undefined {
  const { entries, item, wrapped, getter, pipe } = schema as {
    entries?: Readonly<Record<string, v.GenericSchema>>
    item?: v.GenericSchema
    wrapped?: v.GenericSchema
    getter?: Shape['getter']
    pipe?: readonly (v.GenericSchema | { kind: string })[]
  }
  if (entries !== undefined) {
    const names = Object.keys(entries)
    const members = new Map(names.map((name) => [name, shapeOf(entries[name]!)]))
    return { entries: members, names, isLoose: schema.type === 'loose_object', parts: [] }
  }
  if (schema.type === 'record') return { isMap: true, parts: [] }
  if (wrapped !== undefined) return shapeOf(wrapped)
  const later = (pipe ?? []).slice(1).filter((step) => step.kind === 'schema') as v.GenericSchema[]
  const parts = later.map(shapeOf).filter((shape) => shape !== undefined)
  const items = item && shapeOf(item)
  return getter || items || parts.length > 0 ? { item: items, parts, getter } : undefined
}

/** The first field that the shape does not have; with `remove`, all of them are removed instead. */
function findUnknown(
  shape: Shape | undefined,
  value: unknown,
  ignores: readonly string[] = noFields,
  remove: boolean,
): Unknown | undefined {
  if (shape === undefined || typeof value !== 'object' || value === null) return undefined
  const { item, parts, getter } = shape
  if (Array.isArray(value)) {
    if (!remove && (shape.entries !== undefined || shape.isMap))
      return { path: [], name: '', fields: noFields, isList: true }
    const found = item && findInList(item, value, remove)
    if (found !== undefined) return found
  } else if (shape.entries !== undefined) {
    return findInObject(shape, value as Record<string, unknown>, ignores, remove)
  }
  for (const part of parts) {
    const found = findUnknown(part, value, noFields, remove)
    if (found !== undefined) return found
  }
  return getter && findUnknown(shapeOf(getter(value)), value, noFields, remove)
}

function findInObject(
  { entries, names, isLoose }: Shape,
  value: Record<string, unknown>,
  ignores: readonly string[],
  remove: boolean,
): Unknown | undefined {
  for (const name in value) {
    const member = value[name]
    if (member === undefined || member === null) continue
    const shape = entries!.get(name)
    if (shape !== undefined) {
      const found = findUnknown(shape, member, noFields, remove)
      if (found === undefined) continue
      found.path.unshift(name)
      return found
    }
    if (entries!.has(name) || isLoose || ignores.includes(name)) continue
    if (!remove) return { path: [], name, fields: names! }
    delete value[name]
  }
  return undefined
}

function findInList(item: Shape, list: readonly unknown[], remove: boolean): Unknown | undefined {
  // A longer list is refused as a whole.
  if (list.length > limits.batch) return undefined
  for (let i = 0; i < list.length; i++) {
    const found = findUnknown(item, list[i], noFields, remove)
    if (found === undefined) continue
    found.path.unshift(i)
    return found
  }
  return undefined
}

/** Names that other catalogs and query languages give to the same thing. */
const synonyms: readonly (readonly string[])[] = [
  ['predicate', 'filter', 'where', 'condition', 'sql'],
  ['columns', 'select', 'fields', 'projection'],
  ['limit', 'top', 'page_size', 'max_results'],
  ['page_token', 'cursor', 'next_token', 'next_page_token', 'continuation_token'],
  ['new_table_name', 'new_name', 'to'],
  ['new_namespace_id', 'new_namespace'],
  ['id', 'table', 'table_id', 'namespace', 'identifier'],
  ['data', 'rows', 'records'],
  ['updates', 'properties', 'set', 'values'],
]

/** What to write instead of a name that is not among the fields. */
export function hintFor(name: string, fields: readonly string[], called = 'fields'): string {
  const group = synonyms.find((names) => names.includes(name.toLowerCase()))
  const near = group?.find((other) => fields.includes(other)) ?? nearest(name, fields)
  return `${near === undefined ? '' : `Did you mean ${near}? `}Its ${called} are ${fields.join(', ')}.`
}

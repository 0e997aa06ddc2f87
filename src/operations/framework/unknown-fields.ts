import type * as v from 'valibot'
import { invalid } from '../../errors.ts'
import { limits } from '../../model/fields.ts'
import { quote } from '../../model/identifier.ts'
import { nearest } from '../../model/nearest.ts'
import type { AnyOperation } from './operation.ts'

/*
 * A field that an operation does not know would be left out, and the answer would be to another question: a count of
 * all rows, where `filter` was meant as a predicate. So such a field is refused, at any depth. Null and undefined
 * count as absent here as everywhere.
 */

/** Fails with `InvalidInput` for a field that the operation does not have, and names the nearest one. */
export function refuseUnknown(operation: AnyOperation, request: object): void {
  const found = findUnknown(operation.request, request, operation.ignores, false)
  if (found === undefined) return
  const { path, name, fields } = found
  const where = path.length === 0 ? '' : `: ${formatPath(path)}`
  throw invalid(
    `${operation.name}${where} has no field ${quote(name.slice(0, 64))}. ${hintFor(name, fields)}`,
  )
}

/** Removes the fields that the operation does not have from a request. */
export function removeUnknown(operation: Pick<AnyOperation, 'request' | 'ignores'>, request: object): void {
  findUnknown(operation.request, request, operation.ignores, true)
}

/** The fields that the requests of an operation have. */
export function fieldsOf(request: v.GenericSchema): readonly string[] {
  return isObject(request) ? Object.keys(request.entries) : noFields
}

/** Whether a value that the schema takes may hold objects with fields of their own. */
export function holdsFields(schema: v.GenericSchema): boolean {
  const known = withFields.get(schema)
  if (known !== undefined) return known
  const item = itemOf(schema)
  const held =
    schema.type === 'lazy' ||
    isObject(schema) ||
    (item !== undefined && holdsFields(item)) ||
    partsOf(schema, undefined).some(holdsFields)
  withFields.set(schema, held)
  return held
}

/** The path of a field as one writes it, such as `operations[1].declare_table`. */
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
}

type Entries = Readonly<Record<string, v.GenericSchema>>
type ObjectSchema = v.GenericSchema & { readonly entries: Entries }

const withFields = new WeakMap<v.GenericSchema, boolean>()
const noFields: readonly string[] = []

function isObject(schema: v.GenericSchema): schema is ObjectSchema {
  return 'entries' in schema
}

/** The schemas that a value must satisfy besides that of its fields; `value` decides where they depend on it. */
function partsOf(schema: v.GenericSchema, value: unknown): readonly v.GenericSchema[] {
  const { wrapped, getter, pipe } = schema as {
    wrapped?: v.GenericSchema
    getter?: (input: unknown) => v.GenericSchema
    pipe?: readonly (v.GenericSchema | { kind: string })[]
  }
  const later = (pipe ?? []).slice(1).filter((step) => step.kind === 'schema') as v.GenericSchema[]
  const inner = wrapped ?? (value === undefined ? undefined : getter?.(value))
  return inner === undefined ? later : [inner, ...later]
}

function itemOf(schema: v.GenericSchema): v.GenericSchema | undefined {
  return (schema as { item?: v.GenericSchema }).item
}

/** The first field that the schema does not have; with `remove`, all of them are removed instead. */
function findUnknown(
  schema: v.GenericSchema,
  value: unknown,
  ignores: readonly string[] = noFields,
  remove: boolean,
): Unknown | undefined {
  if (typeof value !== 'object' || value === null || !holdsFields(schema)) return undefined
  if (isObject(schema)) {
    return Array.isArray(value) ? undefined : findInObject(schema, value as never, ignores, remove)
  }
  const item = itemOf(schema)
  const found = item && holdsFields(item) ? findInList(item, value, remove) : undefined
  if (found !== undefined) return found
  for (const part of partsOf(schema, value)) {
    const found = findUnknown(part, value, noFields, remove)
    if (found !== undefined) return found
  }
  return undefined
}

function findInObject(
  { entries, type }: ObjectSchema,
  value: Record<string, unknown>,
  ignores: readonly string[],
  remove: boolean,
): Unknown | undefined {
  for (const name in value) {
    const member = value[name]
    if (member === undefined || member === null) continue
    if (Object.hasOwn(entries, name)) {
      const found = findUnknown(entries[name]!, member, noFields, remove)
      if (found === undefined) continue
      found.path.unshift(name)
      return found
    }
    if (type === 'loose_object' || ignores.includes(name)) continue
    if (!remove) return { path: [], name, fields: Object.keys(entries) }
    delete value[name]
  }
  return undefined
}

function findInList(item: v.GenericSchema, list: object, remove: boolean): Unknown | undefined {
  // A longer list is refused as a whole.
  if (!Array.isArray(list) || list.length > limits.batch) return undefined
  for (let i = 0; i < list.length; i++) {
    const found = findUnknown(item, list[i], noFields, remove)
    if (found === undefined) continue
    found.path.unshift(i)
    return found
  }
  return undefined
}

/** Names that other catalogs and query languages give to the same thing. */
const sameThings: readonly (readonly string[])[] = [
  ['predicate', 'filter', 'where', 'condition', 'sql'],
  ['columns', 'select', 'fields', 'projection'],
  ['limit', 'top', 'page_size', 'max_results'],
  ['page_token', 'cursor', 'next_token', 'next_page_token', 'continuation_token'],
  ['new_table_name', 'new_name', 'to'],
  ['new_namespace_id', 'new_namespace'],
  ['id', 'table', 'table_id', 'namespace', 'identifier'],
  ['data', 'rows', 'records'],
]

/** What to write instead of a name that is not among the fields. */
export function hintFor(name: string, fields: readonly string[], called = 'fields'): string {
  const group = sameThings.find((names) => names.includes(name.toLowerCase()))
  const near = group?.find((other) => fields.includes(other)) ?? nearest(name, fields)
  return `${near === undefined ? '' : `Did you mean ${near}? `}Its ${called} are ${fields.join(', ')}.`
}

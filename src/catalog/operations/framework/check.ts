import * as v from 'valibot'
import { invalid } from '../../../base/errors.ts'
import { mapInSlices } from '../../../base/scheduling/time-slice.ts'
import type { AnyOperation } from './operation.ts'
import { formatPath, holdsFields, refuseUnknown } from './unknown-fields.ts'

/**
 * The request as its operation takes it, with defaults filled in and words spelled as listed. Fails with
 * `InvalidInput`, naming the field, for anything else, and for a field that the operation does not have.
 */
export function checkRequest(operation: AnyOperation, request: unknown): unknown {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw invalid(`${operation.name} takes one object as its request, such as { id: ["prod", "flights"] }.`)
  }
  const schema = schemaFor(operation.request, request)
  // A schema without the absent fields was made for a request that has known fields only.
  if (schema === operation.request || nested.has(schema)) refuseUnknown(operation, request)
  return checkValue(operation, schema, request)
}

/** A value as its schema takes it. Fails with `InvalidInput`, naming the path; `at` is the path of the value itself. */
function checkValue(
  operation: AnyOperation,
  schema: v.GenericSchema,
  value: unknown,
  at: readonly unknown[] = [],
): unknown {
  const result = v.safeParse(schema, value, {
    abortEarly: true,
    abortPipeEarly: true,
  })
  if (result.success) return result.output
  throw invalid(`${operation.name}: ${describeIssue(schema, result.issues[0], at)}.`)
}

function describeIssue(schema: v.GenericSchema, issue: v.BaseIssue<unknown>, at: readonly unknown[]): string {
  const keys = (issue.path ?? []).map(({ key }) => key)
  const path = formatPath([...at, ...keys]) || 'the request'
  if (issue.received !== 'undefined' || issue.kind !== 'schema') return `${path} ${messageOf(issue)}`
  const wanted = messageAt(schema, keys)
  return `${path} is missing${wanted?.startsWith('must be ') ? `. It ${wanted}` : ''}`
}

/** The parts of a schema that lead to the schemas of its members. A pipe has those of its first step. */
interface Parts {
  readonly wrapped?: Parts
  readonly getter?: (input: undefined) => Parts
  readonly entries?: Readonly<Record<string, Parts>>
  readonly items?: readonly Parts[]
  readonly item?: Parts
  readonly message?: unknown
}

/** The message of the schema at a path: what belongs there. */
function messageAt(schema: v.GenericSchema, keys: readonly unknown[]): string | undefined {
  let part = schema as Parts | undefined
  for (const key of keys) {
    part = part?.entries?.[key as string] ?? part?.items?.[key as number] ?? part?.item
    for (let inner = part; inner; inner = inner.wrapped ?? inner.getter?.(undefined)) part = inner
  }
  const message = part?.message
  if (typeof message === 'function') return String(message({ input: undefined }))
  return typeof message === 'string' ? message : undefined
}

/** What schemas without a message of their own expect. */
const expectations: ReadonlyMap<string | null, string> = new Map([
  ['Object', 'an object'],
  ['Array', 'a list'],
])

function messageOf({ kind, expected, message }: v.BaseIssue<unknown>): string {
  const wanted = message.startsWith('Invalid type: ') ? expectations.get(expected) : undefined
  return kind === 'schema' && wanted !== undefined ? `must be ${wanted}` : message
}

/** The most kinds of requests, by their fields, that are kept for one operation. Others take the whole schema. */
const maxKinds = 32

type ObjectSchema = v.GenericSchema & { readonly entries: Readonly<Record<string, v.GenericSchema>> }

/** The requests that have some fields in some order. Each further field leads on, by its own name and by no joined one. */
interface Kind {
  readonly further: Map<string, Kind>
  schema: v.GenericSchema | undefined
}

/** All kinds of one operation: `first` is of the requests without any field. */
interface Kinds {
  readonly first: Kind
  count: number
}

const kinds = new WeakMap<v.GenericSchema, Kinds>()

/** The schemas of kinds whose fields hold objects, which may have unknown fields. */
const nested = new WeakSet<v.GenericSchema>()

/**
 * A schema that finds the same in `request` as the operation's own, without the optional fields that are absent. Most
 * requests have one field or two of ten, and asking for the others took two thirds of a check.
 */
export function schemaFor(schema: v.GenericSchema, request: object): v.GenericSchema {
  if (Object.getPrototypeOf(request) !== Object.prototype) return schema
  let known = kinds.get(schema)
  if (known === undefined) {
    if (!isPlainObject(schema)) return schema
    known = { first: emptyKind(), count: 0 }
    kinds.set(schema, known)
  }
  const names = Object.keys(request)
  let kind: Kind | undefined = known.first
  for (const name of names) {
    kind = kind.further.get(name)
    if (kind === undefined) break
  }
  return kind?.schema ?? newKind(known, schema as ObjectSchema, names)
}

function newKind(known: Kinds, schema: ObjectSchema, names: readonly string[]): v.GenericSchema {
  // Names that the schema does not have could make any number of kinds.
  if (known.count >= maxKinds || names.some((name) => !Object.hasOwn(schema.entries, name))) return schema
  const entries = Object.fromEntries(
    Object.entries(schema.entries).filter(([name, entry]) => names.includes(name) || isMissed(entry)),
  )
  const reduced = { ...schema, entries } as unknown as v.GenericSchema
  let kind = known.first
  for (const name of names) {
    const next = kind.further.get(name) ?? emptyKind()
    kind.further.set(name, next)
    kind = next
  }
  kind.schema = reduced
  known.count++
  if (holdsFields(reduced)) nested.add(reduced)
  return reduced
}

function emptyKind(): Kind {
  return { further: new Map(), schema: undefined }
}

/** Whether a schema only checks each field by itself. */
function isPlainObject(schema: v.GenericSchema): schema is ObjectSchema {
  return schema.type === 'object' && !('pipe' in schema)
}

/** Whether the schema notices that a field is absent: the field must be there, or a default stands in for it. */
function isMissed(entry: v.GenericSchema): boolean {
  const mayBeAbsent = entry.type === 'optional' || entry.type === 'nullish'
  const { default: given, fallback } = entry as { readonly default?: unknown; readonly fallback?: unknown }
  return !mayBeAbsent || given !== undefined || fallback !== undefined
}

/** A shorter list is checked at once. */
const minItems = 200

/** A request with one list that is checked item by item. */
interface Split {
  readonly name: string
  /** The schema of the whole, with any items. */
  readonly shell: v.GenericSchema
  readonly item: v.GenericSchema
}

/** Checks a request as `checkRequest` does. One with a long list of objects is checked in time slices. */
export function checkLong(operation: AnyOperation, request: unknown): unknown {
  let known = splits.get(operation.request)
  if (known === undefined) {
    known = splitsOf(operation.request)
    splits.set(operation.request, known)
  }
  // Most operations have no list of objects.
  for (const split of known) {
    const list = (request as Readonly<Record<string, unknown>> | null | undefined)?.[split.name]
    if (Array.isArray(list) && list.length >= minItems) return checkItems(operation, request, split)
  }
  return checkRequest(operation, request)
}

async function checkItems(operation: AnyOperation, request: unknown, split: Split): Promise<unknown> {
  const { name, shell, item } = split
  const checked = checkRequest({ ...operation, request: shell }, request) as Record<string, unknown>
  // A copy, since the caller may change its list meanwhile.
  const list = checked[name] as readonly unknown[]
  const items = await mapInSlices(list, (given, i) => {
    const path = [name, i]
    refuseUnknown(operation, given, { schema: item, path })
    return checkValue(operation, item, given, path)
  })
  return { ...checked, [name]: items }
}

const splits = new WeakMap<v.GenericSchema, readonly Split[]>()

type Steps = readonly [v.GenericSchema, ...v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>[]]
type ListSchema = v.ArraySchema<v.GenericSchema, string>

/** Each way to split the requests of an operation: by every field that is a list of objects. */
function splitsOf(schema: v.GenericSchema): readonly Split[] {
  const { entries } = schema as { readonly entries?: Readonly<Record<string, v.GenericSchema>> }
  if (entries === undefined || 'pipe' in schema) return []
  return Object.entries(entries).flatMap(([name, entry]) => {
    const { pipe } = entry as { readonly pipe?: Steps }
    const lists = (pipe ?? [entry]).filter(isListOfObjects)
    if (lists.length !== 1) return []
    const { item } = lists[0]!
    const open = (step: Steps[number]) => (isListOfObjects(step) ? { ...step, item: v.unknown() } : step)
    const list =
      pipe === undefined ? open(entry) : v.pipe(...(pipe.map(open) as unknown as [v.GenericSchema]))
    return [{ name, shell: { ...schema, entries: { ...entries, [name]: list } } as v.GenericSchema, item }]
  })
}

function isListOfObjects(step: Steps[number]): step is ListSchema {
  const { kind, type, item } = step as { kind: string; type: string; item?: { type: string } }
  return kind === 'schema' && type === 'array' && (item?.type === 'object' || item?.type === 'loose_object')
}

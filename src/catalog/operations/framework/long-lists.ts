import * as v from 'valibot'
import { mapInSlices } from '../../../base/scheduling/time-slice.ts'
import { checkRequest, checkValue } from './check.ts'
import type { AnyOperation } from './operation.ts'
import { refuseUnknown } from './unknown-fields.ts'

/** A shorter list is checked at once. */
const leastItems = 200

/** A request of which one list is checked item by item. */
interface Split {
  readonly name: string
  /** The schema of the whole, with any items. */
  readonly shell: v.GenericSchema
  readonly item: v.GenericSchema
}

/** Checks a request as `checkRequest` does. One with a long list of objects is checked in time slices. */
export function checkLong(operation: AnyOperation, request: unknown): unknown {
  const split = splitFor(operation.request, request as Fields | null | undefined)
  if (split === undefined) return checkRequest(operation, request)
  return checkItems(operation, request, split)
}

type Fields = Readonly<Record<string, unknown>>

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

/** Called for every request. Most operations have no list of objects. */
function splitFor(schema: v.GenericSchema, request: Fields | null | undefined): Split | undefined {
  let known = splits.get(schema)
  if (known === undefined) {
    known = splitsOf(schema)
    splits.set(schema, known)
  }
  for (const split of known) {
    const list = request?.[split.name]
    if (Array.isArray(list) && list.length >= leastItems) return split
  }
  return undefined
}

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

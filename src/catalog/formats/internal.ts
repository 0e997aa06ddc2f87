import * as v from 'valibot'
import { requestFields } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { locationOf } from '../locations/locations.ts'
import { findTable } from '../lookup/names.ts'
import type { AnyOperation, OperationContext, OperationOptions } from '../operations/framework/operation.ts'
import { type Invocable, invoke } from '../operations/framework/operation.ts'
import { post } from '../operations/framework/route.ts'

/** An operation that only adapters of other protocols use. It has no route, and is on no handle. */
export type AdapterOperation<Request, Response> = (
  catalog: Invocable,
  request: Request,
  options?: OperationOptions,
) => Promise<Response>

/**
 * Makes an operation for adapters. `like` is the operation of the catalog that does most nearly the same: hooks are asked
 * about it, and the faults of a fake for it apply here, too. Without one, nobody is asked: the request is about its caller
 * alone.
 */
export function adapterOperation<Schema extends v.ObjectEntries, Response>(definition: {
  readonly like?: string
  readonly changes: boolean
  readonly request: Schema
  readonly location?: AnyOperation['location']
  readonly run: (
    core: OperationContext,
    request: v.InferOutput<v.ObjectSchema<Schema & typeof requestFields, undefined>>,
    options: OperationOptions,
  ) => Promise<Response>
}): AdapterOperation<v.InferInput<v.ObjectSchema<Schema & typeof requestFields, undefined>>, Response> {
  const { like, changes, request, location, run } = definition
  const described = {
    name: like ?? 'aboutItsCaller',
    asksNobody: like === undefined,
    summary: '',
    request: v.object({ ...requestFields, ...request }),
    response: v.unknown(),
    errors: [],
    changes,
    route: post(''),
    ...(location && { location }),
    run,
  } as unknown as AnyOperation
  return (catalog, asked, options = {}) => catalog[invoke](described, asked, options) as Promise<Response>
}

/** Where a table lies. Throws `TableNotFound`. */
export function locationOfTable(
  { store, contentRoots }: Pick<OperationContext, 'store' | 'contentRoots'>,
  id: Identifier,
): Promise<string> {
  return store.read((reader) => {
    const table = findTable(reader, id)
    return locationOf(contentRoots, table.id, table.record)
  })
}

import type { Origin } from '../../../base/store/records.ts'
import { type AnyOperation, type OperationOptions, requestId } from './operation.ts'
import { principalOf } from './principal.ts'

/** The caller and the request of a change, as far as a server named them. */
export function originOf(
  { changes }: AnyOperation,
  request: unknown,
  options: OperationOptions,
): Origin | undefined {
  if (!changes) return undefined
  const principal = principalOf(request)
  const request_id = options[requestId]
  if (principal === undefined && request_id === undefined) return undefined
  return { ...(principal !== undefined && { principal }), ...(request_id !== undefined && { request_id }) }
}

import type { Route } from '../../operations/framework/route.ts'
import { type OperationName, operations } from '../../operations/index.ts'

export type { Method, Route } from '../../operations/framework/route.ts'
export { contextOfHeaders, headerPrefix, headersOfContext } from './context.ts'
export { checkDelimiter, decodePathId, encodePathId } from './path-id.ts'
export { decodeQuery, encodeQuery, type QueryKind } from './query.ts'

/** Content types of Arrow IPC data, and of bytes that do not say what they are. */
export const arrowStreamType = 'application/vnd.apache.arrow.stream'
export const arrowFileType = 'application/vnd.apache.arrow.file'
export const bytesType = 'application/octet-stream'
export const jsonType = 'application/json'

/** The response header that carries `transaction_id` where the body is bare and has no room for it. */
export const transactionHeader = 'x-tabularium-transaction-id'

/** The header that names a request: taken from the request, made up otherwise, and always in the response. */
export const requestIdHeader = 'x-request-id'

/** How each operation of the record travels. */
export const wire = Object.fromEntries(
  Object.values(operations).map(({ definition }) => [definition.name, definition.route]),
) as { readonly [Name in OperationName]: Route }

/**
 * A catalog over HTTP: {@link connect} returns the same handle as `openCatalog`. Every operation is a request to a
 * server.
 *
 * @module
 */

import { type Catalog, createHandle } from './catalog/handle.ts'
import { answerOf, rejoin } from './client/answer.ts'
import { credentials } from './client/credentials.ts'
import { exchange } from './client/exchange.ts'
import { type ClientOptions, settingsOf } from './client/options.ts'
import { requestOf } from './client/request.ts'
import { checkDelimiter } from './listing/paging.ts'
import { checkRequest } from './operations/framework/check.ts'
import type { OperationName } from './operations/index.ts'

export type { Catalog } from './catalog/handle.ts'
export type { ClientOptions, Fetch, TokenSource } from './client/options.ts'
export { CatalogError, type ErrorCode } from './errors.ts'

/**
 * Connects to the catalog that a server offers at `url`. Nothing is sent before the first operation.
 *
 * The client checks requests by the same schemas as the catalog itself, so that both refuse the same requests. An
 * error of the server becomes the same `CatalogError` here. Read-only operations are sent again when the server is
 * busy or cannot be reached. The headers of a response are `header.*` entries of its `context`, and such entries of a
 * request's context are sent as headers. Other entries, and `identity`, are sent only with JSON requests.
 * `onProgress` is never called, since a response arrives as a whole.
 *
 * Rows may have the same forms as for any catalog. The client converts row objects to Arrow. For an insert it first
 * requests the types of the table's columns; otherwise it infers the types, unless there is a `schema`.
 *
 * ```ts
 * await using catalog = connect('http://127.0.0.1:2333', { token: process.env.TOKEN })
 * const { tables } = await catalog.listTables({ id: [] })
 * ```
 */
export function connect(url: string | URL, options: ClientOptions = {}): Catalog {
  const settings = settingsOf(url, options)
  const access = credentials(settings)
  const catalog: Catalog = createHandle({
    run: async (operation, request, options) => {
      options.signal?.throwIfAborted()
      const checked = checkRequest(operation, request) as Record<string, unknown>
      const delimiter = checkDelimiter(checked.delimiter as string | undefined)
      const name = operation.name as OperationName
      const outgoing = await requestOf(catalog, name, checked, options)
      const response = await exchange(settings, access, operation, outgoing, options.signal)
      return rejoin(answerOf(operation, response), delimiter)
    },
    close: async () => {},
  })
  return catalog
}

/**
 * The same catalog over HTTP: {@link connect} gives the handle that `openCatalog` gives, every operation of
 * which is a request to a server.
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
import { checkRequest } from './operations/framework/run.ts'
import type { OperationName } from './operations/index.ts'

export type { Catalog } from './catalog/handle.ts'
export type { ClientOptions, Fetch, TokenSource } from './client/options.ts'
export { CatalogError, type ErrorCode } from './errors.ts'

/**
 * Connects to the catalog that a server offers at `url`. Nothing is sent before the first operation.
 *
 * Requests are checked here by the schemas that the catalog itself uses, so that what is refused is refused
 * alike; errors of the server come as the `CatalogError` they were there. Operations that change nothing are
 * sent again when the server is busy or cannot be reached. The headers of a response are in its `context` as
 * `header.*` entries, and such entries of a request's context are sent as headers; other entries and
 * `identity` travel with operations whose request is JSON. `onProgress` is not called: a response comes whole.
 *
 * Rows may be given as to any catalog. Row objects become Arrow here: those inserted into a table that exists
 * get the types of its columns, which are asked for first; others have their types inferred unless there is a
 * `schema`.
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
      const outgoing = await requestOf(catalog, name, checked, request as Record<string, unknown>, options)
      const response = await exchange(settings, access, operation, outgoing, options.signal)
      return rejoin(answerOf(outgoing.route, response), delimiter)
    },
    close: async () => {},
  })
  return catalog
}

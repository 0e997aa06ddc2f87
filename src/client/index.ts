/**
 * A catalog over HTTP: {@link connect} returns the same handle as `openCatalog`. Every operation is a request to a
 * server.
 *
 * @module
 */

import { CatalogError, type ErrorCode } from '../base/errors.ts'
import { checkDelimiter } from '../base/model/identifier.ts'
import {
  type Catalog,
  createHandle,
  type Transaction,
  type TransactionOptions,
} from '../catalog/handle/handle.ts'
import { requireAskable } from '../catalog/operations/framework/access.ts'
import { checkRequest } from '../catalog/operations/framework/check.ts'
import { transactionNamed } from '../catalog/operations/framework/inside.ts'
import type { OperationOptions } from '../catalog/operations/framework/operation.ts'
import type { OperationName } from '../catalog/operations/index.ts'
import { answerOf, rejoin } from './answer.ts'
import { credentials } from './credentials.ts'
import { exchange } from './exchange.ts'
import { type ClientOptions, settingsOf } from './options.ts'
import { requestOf } from './request.ts'
import { transactOver } from './transaction.ts'
import { watchOver } from './watch.ts'

export { CatalogError, type ErrorCode } from '../base/errors.ts'
export type {
  Catalog,
  Changes,
  CommittedChange,
  SubjectChange,
  Transaction,
  TransactionOptions,
  WatchRequest,
} from '../catalog/handle/handle.ts'
export type { ClientOptions, Fetch, TokenSource } from './options.ts'

/** A catalog behind a server. */
export interface ServedCatalog extends Catalog {
  /**
   * Runs `work` as one transaction, as that of a catalog in this process: what it did through `tx` is committed at once
   * and durably, or none of it. Others learn of it by `tx.transactionId`; when `work` runs again, that is a new one. A
   * cancel is noticed at the next operation.
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>, options?: TransactionOptions): Promise<T>
}

/**
 * Connects to the catalog that a server offers at `url`. Nothing is sent before the first operation.
 *
 * The client checks requests by the same schemas as the catalog itself, so that both refuse the same requests. An
 * error of the server becomes the same `CatalogError` here. Read-only operations, and the end of a transaction, are sent
 * again when the server is busy or cannot be reached. The headers of a response are `header.*` entries of its `context`, and such entries of a
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
export function connect(url: string | URL, options: ClientOptions = {}): ServedCatalog {
  const settings = settingsOf(url, options)
  const access = credentials(settings)
  const closing = new AbortController()
  const catalog: ServedCatalog = createHandle({
    run: async (operation, request, options) => {
      options.signal?.throwIfAborted()
      const checked = checkRequest(operation, request) as Record<string, unknown>
      requireAskable(operation, checked, options)
      const delimiter = checkDelimiter(checked.delimiter as string | undefined)
      const name = operation.name as OperationName
      const { signal } = options
      const inside = transactionNamed(request, options)
      const send = async (types: OperationOptions) => {
        const outgoing = await requestOf(catalog, name, checked, types, inside)
        return exchange(settings, access, operation, outgoing, signal)
      }
      const response = await (inside !== undefined && Array.isArray(checked.data)
        ? withTypesOutside(send, { signal }, { signal, transaction: inside })
        : send({ signal }))
      return rejoin(answerOf(operation, response), delimiter)
    },
    transact: (work, given) => transactOver(settings, catalog, work, given) as Promise<never>,
    watch: (request) => watchOver(settings, access, request, closing.signal),
    close: async () => closing.abort(),
  })
  return catalog
}

/**
 * Sends row objects inside of a transaction. Asking there what types a table has would be a read of the table: then two
 * transactions could not both append to it. So the types are those that the table has outside, unless it is not there,
 * or the transaction has given it others.
 */
async function withTypesOutside<T>(
  send: (types: OperationOptions) => Promise<T>,
  outside: OperationOptions,
  inside: OperationOptions,
): Promise<T> {
  try {
    return await send(outside)
  } catch (error) {
    if (!(error instanceof CatalogError && mayBeOfTypes.has(error.code))) throw error
    return send(inside)
  }
}

/** What an insert is refused with when the types of its rows are not those of the table. */
const mayBeOfTypes: ReadonlySet<ErrorCode> = new Set([
  'InvalidInput',
  'TableSchemaValidationError',
  'TableNotFound',
  'TableBranchNotFound',
])

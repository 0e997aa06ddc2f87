/**
 * A catalog over HTTP: {@link connect} returns the same handle as `openCatalog`. Every operation is a request to a
 * server.
 *
 * @module
 */

import { CatalogError, type ErrorCode, invalid } from '../base/errors.ts'
import { requireKey } from '../base/model/idempotency-key.ts'
import { checkDelimiter } from '../base/model/identifier.ts'
import { requestMemory } from '../base/scheduling/request-memory.ts'
import { anySignal } from '../base/scheduling/signals.ts'

export type {
  Catalog,
  Changes,
  CommittedChange,
  SubjectChange,
  Transaction,
  TransactionOptions,
  WatchRequest,
} from '../catalog/index.ts'

import { isRowsSource } from '../base/model/rows-source.ts'
import type {
  AnyOperation,
  Catalog,
  OperationOptions,
  Transaction,
  TransactionOptions,
} from '../catalog/index.ts'
import { checkCallerHook, checkRequest, createHandle, isKeyed, transactionNamed } from '../catalog/index.ts'
import type { OperationName } from '../catalog/operations/index.ts'
import { answerOf, rejoin } from './answer.ts'
import { credentials } from './credentials.ts'
import { exchange } from './exchange.ts'
import { type ClientOptions, settingsOf } from './options.ts'
import { requestOf } from './request.ts'
import { transactOver } from './transaction.ts'
import { watchOver } from './watch.ts'

export { CatalogError, type ErrorCode } from '../base/errors.ts'
export type { ClientOptions, Fetch, TokenSource } from './options.ts'

/** A catalog behind a server. */
export interface ServedCatalog extends Catalog {
  /**
   * Runs `work` as one transaction, as a local catalog does: all that it did through `tx` is committed at once and
   * durably, or nothing is. `tx.transactionId` names the transaction to others. Each run of `work` has a new one.
   * A cancel takes effect at the next operation.
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>, options?: TransactionOptions): Promise<T>
}

/**
 * Connects to the catalog that a server offers at `url`. Nothing is sent before the first operation.
 *
 * The client checks requests by the same schemas as the catalog itself, so both refuse the same requests. An error of
 * the server becomes the same `CatalogError` here. Read-only operations, commits and rollbacks are retried when the
 * server is busy or unreachable, and so are changes with an `idempotencyKey`. Response headers become `header.*` entries of `context`, and such entries of a
 * request's context are sent as headers. Other entries, and `identity`, are sent only with JSON requests. `onProgress`
 * is never called, because a response arrives as a whole.
 *
 * Rows may have the same forms as for any catalog. The client converts row objects to Arrow. For an insert it first
 * requests the types of the table's columns. Otherwise it infers the types, unless there is a `schema`.
 *
 * ```ts
 * await using catalog = connect('http://127.0.0.1:2333', { token: process.env.TOKEN })
 * const { tables } = await catalog.listTables({ id: [] })
 * ```
 */
export function connect(url: string | URL, options: ClientOptions = {}): ServedCatalog {
  const settings = settingsOf(url, options)
  const tokens = credentials(settings)
  const closing = new AbortController()
  const catalog: ServedCatalog = createHandle({
    run: async (operation, request, options) => {
      options.signal?.throwIfAborted()
      const checked = checkRequest(operation, request) as Record<string, unknown>
      checkCallerHook(operation, checked, options)
      const delimiter = checkDelimiter(checked.delimiter as string | undefined)
      const name = operation.name as OperationName
      // Each call listens to a signal of its own: Node warns when many listen to the caller's.
      const signal = options.signal instanceof AbortSignal ? anySignal(options.signal) : options.signal
      const transaction = transactionNamed(request, options)
      const inParts = options[requestMemory]?.inParts
      const idempotencyKey = keyOf(operation, checked, options)
      const send = async (types: OperationOptions) => {
        const given = { ...types, idempotencyKey }
        const outgoing = await requestOf(catalog, name, checked, given, transaction)
        return exchange(settings, tokens, operation, outgoing, { signal, inParts })
      }
      const response = await (transaction !== undefined &&
      (Array.isArray(checked.data) || isRowsSource(checked.data))
        ? sendWithOutsideTypes(send, { signal }, { signal, transaction }, checked.data)
        : send({ signal }))
      return rejoin(answerOf(operation, response), delimiter)
    },
    title: () => `Catalog at ${settings.base}`,
    transact: (work, given) => transactOver(settings, catalog, work, given) as Promise<never>,
    watch: (request) => watchOver(settings, tokens, request, closing.signal),
    close: async () => closing.abort(),
  })
  return catalog
}

/** The idempotency key of a change, if it has one. */
function keyOf(
  operation: AnyOperation,
  { data }: Readonly<Record<string, unknown>>,
  { idempotencyKey }: OperationOptions,
): string | undefined {
  if (idempotencyKey === undefined || !isKeyed(operation)) return undefined
  if (!isRowsSource(data)) return requireKey(idempotencyKey)
  throw invalid(
    `${operation.name} has an idempotency key, and rows that can be read only once. Give them as a list or as Arrow bytes, or leave the key out.`,
  )
}

/**
 * Sends row objects in a transaction, with the column types that the table has outside of it. Reading the types inside
 * would add the table to the read set, and two transactions could not both append to it. Falls back to the types inside
 * when the table exists only there, or when the transaction changed its types.
 */
async function sendWithOutsideTypes<T>(
  send: (types: OperationOptions) => Promise<T>,
  outside: OperationOptions,
  inside: OperationOptions,
  data: unknown,
): Promise<T> {
  try {
    return await send(outside)
  } catch (error) {
    if (!(error instanceof CatalogError && typeErrors.has(error.code))) throw error
    // A source is begun only once the types are known, and cannot be read twice.
    if (isRowsSource(data) && !isNotFound(error.code)) throw error
    return send(inside)
  }
}

function isNotFound(code: ErrorCode): boolean {
  return code === 'TableNotFound' || code === 'TableBranchNotFound'
}

/** The errors of an insert whose rows have other types than the table. */
const typeErrors: ReadonlySet<ErrorCode> = new Set([
  'InvalidInput',
  'TableSchemaValidationError',
  'TableNotFound',
  'TableBranchNotFound',
])

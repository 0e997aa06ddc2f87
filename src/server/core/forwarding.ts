import type { Identifier } from '../../base/model/identifier.ts'
import { insideHeader, isTransactionId, transactionNamed } from '../../catalog/operations/framework/inside.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { ForwardedRequest } from '../servers/forwarder.ts'
import type { StreamableAnswer } from './answer.ts'
import { tooLarge } from './body.ts'
import type { HttpContext } from './context.ts'
import type { Exchange } from './exchange.ts'
import { type Match, mountEnd } from './routing.ts'

/** Whether an operation ends the transaction that its path names. */
export function endsTransaction(operation: OperationName): boolean {
  return operation === 'commitTransaction' || operation === 'rollbackTransaction'
}

type ForwardedAnswer = Promise<StreamableAnswer | undefined>

/** Functions that forward a request to the server of its transaction. They resolve to undefined for this server. */
export function forwarding({ forwarder, admission, prefix }: HttpContext) {
  const segments = prefix.split('/').length - 1

  async function forward(
    exchange: Exchange,
    request: Omit<ForwardedRequest, 'target' | 'mostBytes'>,
    most = 0,
  ): ForwardedAnswer {
    const server = await forwarder.serverFor(exchange, request.id)
    if (server === undefined) return undefined
    const { path, query, headers } = exchange
    if (Number(headers['content-length'] ?? 0) > most && most > 0) throw tooLarge(most)
    const target = path.slice(mountEnd(path, segments)) + (query === '' ? '' : `?${query}`)
    return forwarder.answer(exchange, server, { ...request, target, mostBytes: most })
  }

  return {
    /** Forwards a request whose header names a transaction, before its body is read. */
    async forwardUnread(
      exchange: Exchange,
      { operation, route }: Match,
      named: Identifier | undefined,
    ): ForwardedAnswer {
      const id = transactionNamed({}, { transaction: exchange.headers[insideHeader] as string })!
      const pathId = named?.at(-1)
      // An operation on the transaction itself does not run inside of it.
      if (route.path.startsWith('/v1/transaction/') && (pathId === id || endsTransaction(operation)))
        return undefined
      const { arrowBytes, jsonBytes } = admission.limits
      const most = route.body === 'arrow' ? arrowBytes : jsonBytes
      const { headers } = exchange
      const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
      return forward(exchange, { id, body: hasBody ? exchange.body : undefined, isRepeatable: false }, most)
    },

    /** Forwards a commit or rollback whose body was read. */
    async forwardEnd(
      exchange: Exchange,
      named: readonly string[] | undefined,
      body: Buffer,
    ): ForwardedAnswer {
      const id = named?.at(-1)
      if (id === undefined || !isTransactionId(id)) return undefined
      const inside = exchange.headers[insideHeader]
      if (inside !== undefined && inside !== id) return undefined
      return forward(exchange, { id, body, isRepeatable: true })
    },

    /** Forwards a request whose body was read and names a transaction. */
    forwardRead: (exchange: Exchange, id: string, body: Buffer): ForwardedAnswer =>
      forward(exchange, { id, body, isRepeatable: false }),
  }
}

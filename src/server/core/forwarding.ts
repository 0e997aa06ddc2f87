import type { Identifier } from '../../base/model/identifier.ts'
import { insideHeader, isTransactionId, transactionNamed } from '../../catalog/operations/framework/inside.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { Passing } from '../servers/forwarder.ts'
import type { StreamableAnswer } from './answer.ts'
import { tooLarge } from './body.ts'
import type { HttpContext } from './context.ts'
import type { Exchange } from './exchange.ts'
import { type Match, mountEnd } from './routing.ts'

/** Whether an operation ends the transaction that its path names. */
export function endsTransaction(operation: OperationName): boolean {
  return operation === 'commitTransaction' || operation === 'rollbackTransaction'
}

type Passed = Promise<StreamableAnswer | undefined>

/**
 * What of a request is passed on to the server that holds its transaction. Each function is undefined where this server
 * answers itself.
 */
export function passing({ passOn, admission, prefix }: HttpContext) {
  const segments = prefix.split('/').length - 1

  async function pass(exchange: Exchange, passed: Omit<Passing, 'target' | 'mostBytes'>, most = 0): Passed {
    const server = await passOn.serverFor(exchange, passed.id)
    if (server === undefined) return undefined
    const { path, query, headers } = exchange
    if (Number(headers['content-length'] ?? 0) > most && most > 0) throw tooLarge(most)
    const target = path.slice(mountEnd(path, segments)) + (query === '' ? '' : `?${query}`)
    return passOn.answer(exchange, server, { ...passed, target, mostBytes: most })
  }

  return {
    /** Passes on a request whose header names a transaction, before its body is read. */
    async passInside(exchange: Exchange, { operation, route }: Match, named: Identifier | undefined): Passed {
      const id = transactionNamed({}, { transaction: exchange.headers[insideHeader] as string })!
      const own = named?.at(-1)
      // What is about the transaction itself is no part of it.
      if (route.path.startsWith('/v1/transaction/') && (own === id || endsTransaction(operation)))
        return undefined
      const { arrowBytes, jsonBytes } = admission.limits
      const most = route.body === 'arrow' ? arrowBytes : jsonBytes
      const { headers } = exchange
      const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
      return pass(exchange, { id, body: hasBody ? exchange.body : undefined, isRepeatable: false }, most)
    },

    /** Passes on the commit or the end of a transaction, whose body was read. */
    async passEnd(exchange: Exchange, named: readonly string[] | undefined, body: Buffer): Passed {
      const id = named?.at(-1)
      if (id === undefined || !isTransactionId(id)) return undefined
      const inside = exchange.headers[insideHeader]
      if (inside !== undefined && inside !== id) return undefined
      return pass(exchange, { id, body, isRepeatable: true })
    },

    /** Passes on a request whose body was read, and names a transaction. */
    passRead: (exchange: Exchange, id: string, body: Buffer): Passed =>
      pass(exchange, { id, body, isRepeatable: false }),
  }
}

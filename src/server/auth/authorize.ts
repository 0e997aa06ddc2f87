import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { mapInSlices } from '../../base/scheduling/time-slice.ts'
import type { CallerHook } from '../../catalog/index.ts'
import { denied, subjectsInBody } from '../../catalog/local.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Fields } from '../dialects/dialect.ts'
import type { AuthorizeRequest } from '../options.ts'

/** What a request asks to do. */
interface Asked {
  readonly operation: OperationName
  readonly id: Identifier | undefined
  /** The parsed body; absent before the body was read. */
  readonly body?: unknown
  readonly location?: string | undefined
}

/** Calls the `authorize` hook. */
export class Authorizer {
  readonly #hook: AuthorizeRequest

  constructor(hook: AuthorizeRequest) {
    this.#hook = hook
  }

  /** Fails with `PermissionDenied` for what the hook refuses. */
  async check(exchange: Exchange, { operation, id, body, location }: Asked): Promise<void> {
    try {
      if ((await this.#hook(exchange.principal, operation, id, exchange.info(body, location))) !== false)
        return
    } catch (cause) {
      if (cause instanceof CatalogError) throw cause
      throw denied(operation, { cause })
    }
    throw denied(operation)
  }

  /** Checks each table and location that only the body names. `request` is the request with the fields of `body`. */
  async checkBody(
    exchange: Exchange,
    operation: OperationName,
    request: Fields,
    body: unknown,
  ): Promise<void> {
    const named = subjectsInBody(operations[operation].definition, request)
    // In time slices, because a hook that resolves at once never yields to the event loop.
    await mapInSlices(named, (subject) => this.check(exchange, { ...(subject as Asked), body }))
  }

  /** Checks subjects that the catalog resolves from a location or a transaction. */
  ofResolved(exchange: Exchange, body: unknown): CallerHook {
    return (subject) => this.check(exchange, { ...(subject as Asked), body })
  }
}

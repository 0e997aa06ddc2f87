import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { mapInSlices } from '../../base/scheduling/time-slice.ts'
import type { CallerHook } from '../../catalog/operations/framework/access.ts'
import { denied } from '../../catalog/operations/framework/authorize.ts'
import { subjectsInBody } from '../../catalog/operations/framework/subjects.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import type { Fields } from '../dialects/dialect.ts'
import type { AuthorizeRequest, RequestInfo } from '../options.ts'
import type { Principal } from './auth.ts'

/** Asks the hook. Without a hook it returns undefined at once. */
export interface Authorizer {
  (
    principal: Principal | undefined,
    operation: OperationName,
    id: Identifier | undefined,
    info: () => RequestInfo,
  ): Promise<void> | undefined
  /** Asks for every table and location that the request names in its body only. */
  members(
    principal: Principal | undefined,
    operation: OperationName,
    request: Fields,
    info: (location?: string) => RequestInfo,
  ): Promise<void> | undefined
  /** Asks about what the catalog finds that a location or a transaction leads to. Undefined without a hook. */
  aboutFound(
    principal: Principal | undefined,
    info: (location?: string) => RequestInfo,
  ): CallerHook | undefined
}

export function authorizer(hook: AuthorizeRequest | undefined): Authorizer {
  if (hook === undefined)
    return Object.assign(() => undefined, { members: () => undefined, aboutFound: () => undefined })
  const ask: Authorizer = Object.assign(
    async (...[principal, operation, id, info]: Parameters<Authorizer>) => {
      try {
        if ((await hook(principal, operation, id, info())) !== false) return
      } catch (cause) {
        if (cause instanceof CatalogError) throw cause
        throw denied(operation, { cause })
      }
      throw denied(operation)
    },
    {
      members: async (...[principal, operation, request, info]: Parameters<Authorizer['members']>) => {
        const named = subjectsInBody(operations[operation].definition, request)
        // A hook that answers at once yields to nobody.
        await mapInSlices(named, async ({ operation: single, id, location }) => {
          await ask(principal, single as OperationName, id, () => info(location))
        })
      },
      aboutFound:
        (...[principal, info]: Parameters<Authorizer['aboutFound']>): CallerHook =>
        async ({ operation, id, location }) =>
          ask(principal, operation as OperationName, id, () => info(location)),
    },
  )
  return ask
}

import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { mapInSlices } from '../../base/scheduling/time-slice.ts'
import type { CallerHook } from '../../catalog/lookup/access.ts'
import { denied } from '../../catalog/operations/framework/authorize.ts'
import { subjectsInBody } from '../../catalog/operations/framework/subjects.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import type { Fields } from '../dialects/dialect.ts'
import type { AuthorizeRequest, RequestInfo } from '../options.ts'
import type { Principal } from './auth.ts'

/** Calls the `authorize` hook. Without a hook it returns undefined at once. */
export interface Authorizer {
  (
    principal: Principal | undefined,
    operation: OperationName,
    id: Identifier | undefined,
    info: () => RequestInfo,
  ): Promise<void> | undefined
  /** Checks each table and location that only the body names. */
  bodySubjects(
    principal: Principal | undefined,
    operation: OperationName,
    request: Fields,
    info: (location?: string) => RequestInfo,
  ): Promise<void> | undefined
  /** Checks subjects that the catalog resolves from a location or a transaction. Undefined without a hook. */
  resolvedSubjects(
    principal: Principal | undefined,
    info: (location?: string) => RequestInfo,
  ): CallerHook | undefined
}

export function authorizer(hook: AuthorizeRequest | undefined): Authorizer {
  if (hook === undefined)
    return Object.assign(() => undefined, {
      bodySubjects: () => undefined,
      resolvedSubjects: () => undefined,
    })
  const check: Authorizer = Object.assign(
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
      bodySubjects: async (
        ...[principal, operation, request, info]: Parameters<Authorizer['bodySubjects']>
      ) => {
        const named = subjectsInBody(operations[operation].definition, request)
        // In time slices, because a hook that resolves at once never yields to the event loop.
        await mapInSlices(named, async ({ operation: single, id, location }) => {
          await check(principal, single as OperationName, id, () => info(location))
        })
      },
      resolvedSubjects:
        (...[principal, info]: Parameters<Authorizer['resolvedSubjects']>): CallerHook =>
        async ({ operation, id, location }) =>
          check(principal, operation as OperationName, id, () => info(location)),
    },
  )
  return check
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Core } from '../../catalog/core.ts'
import { CatalogError } from '../../errors.ts'
import { removeContent } from '../../locations/removal.ts'
import type { Identity } from '../../model/fields.ts'
import type { Identifier } from '../../model/identifier.ts'
import type { RemovalRecord } from '../../store/records.ts'
import { isRetryable, LocationBusy } from '../../transactions/retry.ts'
import { checkRequest } from './check.ts'
import type { AnyOperation, OperationOptions } from './operation.ts'

/**
 * Asked before every operation. Returning false, or throwing, refuses it with `PermissionDenied`; a
 * `CatalogError` it throws is passed on as it is.
 */
export type AuthorizeHook = (asked: {
  readonly operation: string
  readonly changes: boolean
  readonly id: Identifier | undefined
  readonly identity: Identity | undefined
  readonly context: Readonly<Record<string, string>> | undefined
  readonly request: unknown
}) => unknown

/** Runs an operation on a local catalog: checks the request, asks the `authorize` hook, does the work. */
export async function runOperation(
  core: Core,
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
): Promise<unknown> {
  options.signal?.throwIfAborted()
  const checked = checkRequest(operation, request)
  try {
    if (core.settings.authorize) await authorize(core.settings.authorize, operation, checked)
    for (let attempt = 1; ; attempt++) {
      try {
        return await operation.run(core, checked, options)
      } catch (error) {
        if (!isRetryable(error) || attempt === attempts) throw error
        if (error instanceof LocationBusy) {
          if (core.staging) throw core.staging.busy(error.removal, error)
          await settle(core, error.removal)
        }
      }
    }
  } catch (error) {
    if (error instanceof CatalogError || (options.signal?.aborted && error === options.signal.reason))
      throw error
    throw new CatalogError('Internal', `${operation.name} failed unexpectedly; see the cause.`, {
      cause: error,
    })
  }
}

/** How often an operation starts again after others changed what it works on. */
const attempts = 100

async function authorize(hook: AuthorizeHook, operation: AnyOperation, request: unknown): Promise<void> {
  const { id, identity, context } = request as Partial<Parameters<AuthorizeHook>[0]>
  try {
    const allowed = await hook({
      operation: operation.name,
      changes: operation.changes,
      id,
      identity: identity ?? undefined,
      context: context ?? undefined,
      request,
    })
    if (allowed !== false) return
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause
    throw denied(operation, { cause })
  }
  throw denied(operation)
}

function denied(operation: AnyOperation, options?: { cause: unknown }): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `You are not allowed to run ${operation.name} here. Ask whoever runs the catalog for access.`,
    options,
  )
}

/** Waits for the process that empties a location, or empties it here when that process is gone. */
export async function settle(core: Core, { removing, until }: RemovalRecord): Promise<void> {
  if (until < core.now()) await removeContent(core, [removing])
  // Removing may take a while: the content is large, or a backup copies it.
  await sleep(10)
}

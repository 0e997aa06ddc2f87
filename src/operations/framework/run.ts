import { setTimeout as sleep } from 'node:timers/promises'
import type { Core } from '../../catalog/core.ts'
import { CatalogError, transactionOf } from '../../errors.ts'
import { checkLocation } from '../../locations/locations.ts'
import { removeContent } from '../../locations/removal.ts'
import { isShared, stillShared } from '../../locations/shared-content.ts'
import type { Identity } from '../../model/fields.ts'
import type { Identifier } from '../../model/identifier.ts'
import type { RemovalRecord } from '../../store/records.ts'
import { isRetryable, LocationBusy } from '../../transactions/retry.ts'
import { checkRequest } from './check.ts'
import { isAbout, requireSame, transactionNamed } from './inside.ts'
import type { AnyOperation, OperationOptions, RawRequest } from './operation.ts'
import { originOf } from './origin.ts'
import { principalOf } from './principal.ts'
import type { Subject } from './subjects.ts'

/**
 * Asked before every operation. Returning false, or throwing, refuses it with `PermissionDenied`; a
 * `CatalogError` it throws is passed on as it is. Asked again for what a request names besides: the new name of a
 * renamed table, and each item of a batch as if it was called alone.
 */
export type AuthorizeHook = (asked: {
  readonly operation: string
  readonly changes: boolean
  readonly id: Identifier | undefined
  /**
   * The location that registerTable, declareTable or cloneTable names, in its normal spelling. Content at a location may have
   * belonged to a table that the caller may not see: allow the locations that are the caller's.
   */
  readonly location?: string | undefined
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
  if (core.staging) requireSame(core.staging.transactionId, operation, request, options)
  const inside = core.staging ? undefined : transactionNamed(request, options)
  try {
    if (inside !== undefined && !isAbout(operation, request, inside))
      return await runInside(core, inside, operation, request, options)
    if (core.settings.authorize) await authorize(core, operation, checked)
    const origin = originOf(operation, request, options)
    const asked = origin === undefined ? core : { ...core, origin }
    for (let attempt = 1; ; attempt++) {
      try {
        return await operation.run(asked, checked, options)
      } catch (error) {
        if (!isRetryable(error) || attempt === attempts) throw error
        if (error instanceof LocationBusy) {
          if (core.staging) {
            await requireRemovable(core, error.removal)
            throw core.staging.busy(error.removal, error)
          }
          await settle(core, error.removal)
        }
      }
    }
  } catch (error) {
    if (error instanceof CatalogError || (options.signal?.aborted && error === options.signal.reason))
      throw error
    throw new CatalogError('Internal', `${operation.name} failed unexpectedly; see the cause.`, {
      cause: error,
      transaction_id: transactionOf(error),
    })
  }
}

/** Runs an operation inside of a transaction that was begun before. */
async function runInside(
  core: Core,
  id: string,
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
): Promise<unknown> {
  const sessions = await core.sessions.of(core)
  return sessions.run(id, principalOf(request), operation, request, options)
}

/** How often an operation starts again after others changed what it works on. */
const attempts = 100

/** Asks about a request, and about everything that it names besides its own identifier. */
async function authorize(core: Core, operation: AnyOperation, request: unknown): Promise<void> {
  const { id } = request as { id?: Identifier }
  const { name, changes } = operation
  const raw = request as RawRequest
  await askAbout(core, { operation: name, id, changes, location: operation.location?.(raw) }, request)
  for (const named of operation.subjects?.(raw) ?? []) await askAbout(core, { changes, ...named }, request)
}

/** Asks the `authorize` hook, if there is one, about something that a request means. */
export async function askAbout(
  core: Core,
  {
    operation,
    id,
    changes,
    location,
  }: Omit<Subject, 'id'> & { id: Identifier | undefined; changes: boolean },
  request: unknown,
): Promise<void> {
  const hook = core.settings.authorize
  if (hook === undefined) return
  const { identity, context } = request as Partial<Parameters<AuthorizeHook>[0]>
  try {
    const allowed = await hook({
      operation,
      changes,
      id,
      ...(location !== undefined && { location: checkLocation(core.contentRoots, location) }),
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

/** Whether the hook lets a caller read what a request names. What it throws is a no. */
export async function isAllowed(
  hook: AuthorizeHook,
  operation: string,
  request: Partial<Pick<Parameters<AuthorizeHook>[0], 'id' | 'identity' | 'context'>>,
): Promise<boolean> {
  const { id, identity, context } = request
  try {
    return (await hook({ operation, changes: false, id, identity, context, request })) !== false
  } catch {
    return false
  }
}

function denied(operation: string, options?: { cause: unknown }): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `You are not allowed to run ${operation} here. Ask whoever runs the catalog for access.`,
    options,
  )
}

/** Waits for the process that empties a location, or empties it here when that process is gone. */
export async function settle(core: Core, removal: RemovalRecord): Promise<void> {
  await requireRemovable(core, removal)
  if (isAbandoned(core, removal)) await removeContent(core, [removal.removing])
  // Removing may take a while: the content is large, or a backup copies it.
  await sleep(10)
}

/** Refuses a location that nobody empties, since clones need what lies there. */
async function requireRemovable(core: Core, removal: RemovalRecord): Promise<void> {
  if (!isAbandoned(core, removal)) return
  const { removing } = removal
  if (await core.store.read((reader) => isShared(core.contentRoots, reader, removing)))
    throw stillShared(removing)
}

function isAbandoned(core: Core, { until }: RemovalRecord): boolean {
  return until < core.now()
}

import { CatalogError } from '../../../base/errors.ts'
import type { Identifier } from '../../../base/model/identifier.ts'
import { mapInSlices } from '../../../base/scheduling/time-slice.ts'
import { checkLocation } from '../../locations/locations.ts'
import type { AuthorizeHook } from '../../lookup/access.ts'
import type { AnyOperation, OperationContext, RawRequest, Subject } from './operation.ts'

/** Asks about a request, and about everything that it names besides its own identifier. */
export async function authorize(
  core: OperationContext,
  operation: AnyOperation,
  request: unknown,
): Promise<void> {
  const { id } = request as { id?: Identifier }
  const { name, changes } = operation
  const raw = request as RawRequest
  await askAbout(core, { operation: name, id, changes, location: operation.location?.(raw) }, request)
  // A hook that answers at once does not yield to the event loop.
  await mapInSlices(operation.subjects?.(raw) ?? [], (named) =>
    askAbout(core, { changes, ...named }, request),
  )
}

/** Asks the `authorize` hook, if there is one, about something that a request means. */
export async function askAbout(
  core: OperationContext,
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

/** The error for what a hook refuses. */
export function denied(operation: string, options?: { cause: unknown }): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `You are not allowed to run ${operation} here. Ask whoever runs the catalog for access.`,
    options,
  )
}

import { CatalogError, transactionOf } from '../../../base/errors.ts'
import { requireKey } from '../../../base/model/idempotency-key.ts'
import type { Origin, RemovalRecord } from '../../../base/store/records.ts'
import { sleep } from '../../../base/time.ts'
import { removeContent } from '../../locations/removal.ts'
import { isShared, stillShared } from '../../locations/shared-content.ts'
import { AccessUndecided } from '../../lookup/access.ts'
import type { LongWorkOptions } from '../../transactions/context.ts'
import { isRetryable, LocationBusy, recordedFirst, VacuumBegan } from '../../transactions/retry.ts'
import { AskedHooks } from './access.ts'
import { authorize } from './authorize.ts'
import { ofItem } from './batch.ts'
import { checkLong } from './check.ts'
import { isAbout, isKeyed, principalOf, requireSame, transactionNamed } from './inside.ts'
import {
  type AnyOperation,
  callerHook,
  type OperationContext,
  type OperationOptions,
  requestId,
} from './operation.ts'

/** Runs an operation on a local catalog: checks the request, asks the `authorize` hook, does the work. */
export async function runOperation(
  core: OperationContext,
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
): Promise<unknown> {
  try {
    options.signal?.throwIfAborted()
    if (options.idempotencyKey !== undefined && core.staging === undefined && isKeyed(operation)) {
      const idempotencyKey = requireKey(options.idempotencyKey)
      // Inside of a transaction that is open, that one keeps the answer.
      if (transactionNamed(request, options) === undefined)
        return await core.once(core, operation, request, { ...options, idempotencyKey })
    }
    const checking = checkLong(operation, request)
    const checked = checking instanceof Promise ? await checking : checking
    if (core.staging) requireSame(core.staging.transactionId, operation, request, options)
    const inside = core.staging ? undefined : transactionNamed(request, options)
    if (inside !== undefined && !isAbout(operation, request, inside))
      return await runInside(core, inside, operation, request, options)
    if (core.settings.authorize && operation.asksNobody !== true) await authorize(core, operation, checked)
    const origin = operation.changes ? originOf(request, options) : undefined
    const isAsked = core.settings.authorize !== undefined || options[callerHook] !== undefined
    const access = isAsked ? new AskedHooks(core, checked, options[callerHook]) : undefined
    const asked = origin || access ? { ...core, ...(origin && { origin }), ...(access && { access }) } : core
    let given: OperationOptions & LongWorkOptions = options
    for (let attempt = 1; ; attempt++) {
      try {
        return ownAnswer(await operation.run(asked, checked, given))
      } catch (error) {
        if (error instanceof AccessUndecided && access) {
          // Not counted as an attempt: each time, fewer questions are open.
          attempt--
          await access.decide(error.questions)
          options.signal?.throwIfAborted()
          continue
        }
        if (!isRetryable(error) || attempt === attempts) throw error
        if (error instanceof LocationBusy) await untilFree(core, error)
        else core.counts.lostOperations++
        if (error instanceof VacuumBegan) given = { ...options, [recordedFirst]: true }
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

/** The caller and the request of a change, as far as a server named them. */
function originOf(request: unknown, options: OperationOptions): Origin | undefined {
  const principal = principalOf(request)
  const request_id = options[requestId]
  if (principal === undefined && request_id === undefined) return undefined
  return { ...(principal !== undefined && { principal }), ...(request_id !== undefined && { request_id }) }
}

/** Waits for a location, or fails as the item of the batch that wants it. */
async function untilFree(core: OperationContext, busy: LocationBusy): Promise<void> {
  const { removal, item } = busy
  try {
    if (core.staging === undefined) return await awaitRemoval(core, busy)
    await requireRemovable(core, busy)
  } catch (error) {
    throw ofItem(item, error)
  }
  const error = core.staging.busy(removal, busy)
  throw error === busy ? busy : ofItem(item, error)
}

/** Runs an operation inside of a transaction that was begun before. */
async function runInside(
  core: OperationContext,
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

/** Waits for the process that empties a location, or empties it here if that process is dead. */
export async function awaitRemoval(
  core: OperationContext,
  { removal, location }: Pick<LocationBusy, 'removal' | 'location'>,
): Promise<void> {
  await requireRemovable(core, { removal, location })
  if (isAbandoned(core, removal)) await removeContent(core, [removal.removing])
  // Removing may take a while: the content is large, or a backup copies it.
  await sleep(10)
}

/** Refuses a location that no process empties, since clones need its files. */
async function requireRemovable(
  core: OperationContext,
  { removal, location }: Pick<LocationBusy, 'removal' | 'location'>,
): Promise<void> {
  if (!isAbandoned(core, removal)) return
  const { removing } = removal
  if (await core.store.read((reader) => isShared(core.contentRoots, reader, removing)))
    throw stillShared(location)
}

function isAbandoned(core: OperationContext, { until }: RemovalRecord): boolean {
  return until < core.now()
}

/**
 * Makes an answer the caller's own to change. The object itself was made for this answer. Its members may be shared
 * with the records of a store in memory, or with later answers, and are copied. Bytes and tables of Arrow are made for
 * each answer.
 */
export function ownAnswer(answer: unknown): unknown {
  if (isRecord(answer)) {
    for (const name in answer) {
      const member = answer[name]
      if (typeof member === 'object') answer[name] = ownCopy(member)
    }
  }
  return answer
}

/** A copy of a value, in all its parts. */
export function ownCopy(value: unknown): unknown {
  // Lists hold values of one kind each.
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(ownCopy) : value.slice()
  return isRecord(value) ? ownAnswer({ ...value }) : value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

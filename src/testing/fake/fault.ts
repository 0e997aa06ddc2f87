import * as v from 'valibot'
import { type ErrorCode, errorNumbers, invalid } from '../../base/errors.ts'
import { identifier } from '../../base/model/fields.ts'
import { type Identifier, isWithin, quote, sameNames } from '../../base/model/identifier.ts'
import { didYouMean, nearest } from '../../base/model/nearest.ts'
import type { AnyOperation } from '../../catalog/index.ts'
import { beginsOrEnds } from '../../catalog/index.ts'
import { identifiersIn } from '../../catalog/local.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import { endpointNames, type IcebergEndpoint } from '../../iceberg/endpoint-names.ts'
import { errorStatuses, type IcebergErrorType } from '../../iceberg/errors.ts'
import type { CallName } from './calls.ts'

/*
 * The definition of a fault, also in JSON: which calls it matches, which of those it takes, and its effects.
 */

const maxDelay = 24 * 60 * 60 * 1000

const millis = v.pipe(
  v.number('must be a number of milliseconds'),
  v.minValue(0, 'must be from 0'),
  v.maxValue(maxDelay, 'must be at most 86,400,000, a day'),
)
const byClock = v.strictObject({ clock: millis }, 'must be milliseconds, or { "clock": milliseconds }')
const whole = (least: number) =>
  v.pipe(
    v.number('must be a whole number'),
    v.safeInteger('must be a whole number'),
    v.minValue(least, `must be a whole number from ${least}`),
  )
/** What a fault is for: an operation, `transaction`, or an endpoint of Iceberg REST, such as `iceberg.loadTable`. */
export type FaultTarget = CallName | `iceberg.${IcebergEndpoint}`

const targets = [
  'transaction',
  ...Object.keys(operations),
  ...endpointNames.map((name) => `iceberg.${name}`),
] as [FaultTarget, ...FaultTarget[]]
const operationName = v.picklist(targets, 'must be the name of an operation')
const failures = [...Object.keys(errorNumbers), ...Object.keys(errorStatuses)] as [
  FaultError,
  ...FaultError[],
]

/** A message for names that are not among those that there are, with the nearest of these. */
function oneOf(text: string, names: readonly string[]): ({ input }: { readonly input: unknown }) => string {
  return ({ input }) => {
    const wrong = [input].flat().find((name) => !names.includes(name as string))
    const near = typeof wrong === 'string' ? nearest(wrong, names) : undefined
    return near === undefined ? text : `${text}: for ${quote(wrong as string)} perhaps ${near}`
  }
}

const entries = {
  operation: v.optional(
    v.union(
      [operationName, v.pipe(v.array(operationName), v.minLength(1))],
      oneOf(
        'must be the name of an operation, such as createTable or iceberg.loadTable, or a list of them',
        targets,
      ),
    ),
  ),
  table: v.optional(identifier),
  namespace: v.optional(identifier),
  nth: v.optional(whole(1)),
  times: v.optional(whole(1)),
  probability: v.optional(
    v.pipe(
      v.number('must be a number from 0 to 1'),
      v.minValue(0, 'must be a number from 0 to 1'),
      v.maxValue(1, 'must be a number from 0 to 1'),
    ),
  ),
  when: v.optional(v.picklist(['before', 'after'], 'must be "before" or "after"')),
  delay: v.optional(
    v.union(
      [millis, byClock, v.literal('released')],
      'must be milliseconds up to a day, { "clock": milliseconds } or "released"',
    ),
  ),
  fail: v.optional(
    v.picklist(failures, oneOf('must be an error code, such as ServiceUnavailable', failures)),
  ),
  message: v.optional(
    v.pipe(v.string('must be a string'), v.maxLength(2_000, 'must be at most 2,000 characters long')),
  ),
  retryAfter: v.optional(whole(0)),
  running: v.optional(
    v.union(
      [v.literal(true), millis, byClock, v.strictObject({ describes: whole(1) })],
      'must be true, milliseconds up to a day, { "clock": milliseconds } or { "describes": how many }',
    ),
  ),
  stale: v.optional(v.picklist(['state', 'token'], 'must be "state" or "token"')),
  expired: v.optional(v.literal(true, 'must be true')),
}

/** How a call can fail: a code, or for endpoints of Iceberg REST a type of its errors. */
type FaultError = ErrorCode | IcebergErrorType

/** The JSON form of a fault. */
const faultSchema = v.strictObject(entries, 'must be an object such as { "fail": "Throttling" }')

/** The call that a fault's `match` receives. */
export interface Matched {
  readonly operation: FaultTarget
  readonly request: Readonly<Record<string, unknown>>
}

/** A request to an endpoint of another protocol. */
export interface EndpointCall extends Matched {
  readonly changes: boolean
  /** The namespaces and tables that it names. */
  readonly named: readonly Identifier[]
}

/**
 * An injected fault. It has three parts. `operation`, `table`, `namespace` and `match` select calls; without them, it
 * matches every call. `nth`, `times` and `probability` choose among these calls. `delay`, `fail`, `running`, `stale`
 * and `expired` are the effects on a chosen call.
 */
export interface Fault {
  /**
   * The operation, or several. `transaction` is the commit of a transaction, after its function has ended: with
   * `fail: 'ConcurrentModification'` it has a conflict and runs again. With `when: 'after'` it is committed, but the
   * caller gets an error. The same holds for `commitTransaction`, and the caller may commit again. `iceberg.loadTable`
   * and its like are requests to endpoints of Iceberg REST, by the names of its specification: `delay`, `fail` and
   * `stale: 'state'` are for them.
   */
  readonly operation?: FaultTarget | readonly FaultTarget[] | undefined
  /** Calls that name this table, also within a batch. Namespaces and transactions may be named too. */
  readonly table?: readonly string[] | undefined
  /** Calls that name this namespace, or anything below it. */
  readonly namespace?: readonly string[] | undefined
  /** A predicate on calls, for any other condition. */
  readonly match?: ((call: Matched) => boolean) | undefined
  /**
   * Begins at the n-th matching call, counted from 1. Without `times` it takes only that call. Counts only calls that
   * the effect applies to: changes for `running`, reads for `stale`, and for `stale: 'token'` reads with a page token.
   * So `{ stale: 'token', nth: 1 }` takes the second page of a listing.
   */
  readonly nth?: number | undefined
  /** The most calls to take. Default: 1 with `nth`, else all. */
  readonly times?: number | undefined
  /** Takes each call with this probability, by the fake's seeded random numbers. */
  readonly probability?: number | undefined
  /**
   * Whether `delay` and `fail` come before the operation (the default), or after it: then the change is committed, but
   * the response is delayed or lost.
   */
  readonly when?: 'before' | 'after' | undefined
  /**
   * Delays the call: milliseconds of real time, `{ clock: millis }` of the fake's clock, or `'released'` until the
   * fault is released. The call's signal ends the delay.
   */
  readonly delay?: number | { readonly clock: number } | 'released' | undefined
  /**
   * Fails with this code, or with your own error. For endpoints of Iceberg REST it may be a type of its errors, such as
   * `CommitFailedException`.
   */
  readonly fail?: ErrorCode | IcebergErrorType | Error | undefined
  /** The message of the error with the code `fail`. */
  readonly message?: string | undefined
  /** Over HTTP: the `Retry-After` of a 503 response, in seconds. Default: 0. */
  readonly retryAfter?: number | undefined
  /**
   * Acknowledges the change, but leaves its transaction Running, without a visible effect. The change follows when the
   * fault is released, after milliseconds of real time or of the fake's clock, or after calls of `describeTransaction`.
   * Canceling the transaction prevents it. Does not apply to calls inside a transaction, or to those that begin or end
   * one.
   */
  readonly running?: true | number | { readonly clock: number } | { readonly describes: number } | undefined
  /**
   * For operations that read. `state`: reads the state of the catalog when the fault was added. `token`: the page token
   * is refused as expired; calls without one are not counted. Does not apply to calls inside a transaction.
   */
  readonly stale?: 'state' | 'token' | undefined
  /**
   * Expires the transaction of `beginTransaction` that the call is part of, or ends, before the call. Other calls are
   * not counted.
   */
  readonly expired?: true | undefined
}

/** Validates a fault. Throws `InvalidInput` with the name of the field. */
export function checkFault(given: Fault): Fault {
  const { match, fail, ...written } = given ?? {}
  const own = fail instanceof Error ? fail : undefined
  const result = v.safeParse(faultSchema, { ...written, ...(fail && !own ? { fail } : {}) })
  if (!result.success) throw invalid(`fault: ${issueText(result.issues[0])}.`)
  if (match !== undefined && typeof match !== 'function') throw invalid('fault: match must be a function.')
  const fault: Fault = { ...result.output, ...(match ? { match } : {}), ...(own ? { fail: own } : {}) }
  checkEffects(fault)
  return Object.freeze(fault)
}

function checkEffects(given: Fault): void {
  const { operation, delay, fail, running, stale, expired, when, message, retryAfter } = given
  if (operation === 'transaction' && (running ?? stale ?? expired) !== undefined)
    throw invalid(
      'fault: running, stale and expired are for operations; give delay or fail for a transaction.',
    )
  checkTarget(given)
  const effects = [delay, fail, running, stale, expired]
  if (effects.every((effect) => effect === undefined)) {
    throw invalid(
      'fault: says nothing of what happens; give at least one of delay, fail, running, stale, expired.',
    )
  }
  if (running !== undefined && stale !== undefined)
    throw invalid('fault: running is for changes and stale for reads; make two faults of it.')
  if (when !== undefined && delay === undefined && fail === undefined)
    throw invalid('fault: when goes with delay or fail; leave it out.')
  if (typeof fail !== 'string' && (message !== undefined || retryAfter !== undefined))
    throw invalid('fault: message and retryAfter go with the code of fail; leave them out.')
}

/** What only some targets have. */
function checkTarget({ operation = [], fail, running, stale, expired }: Fault): void {
  const names = typeof operation === 'string' ? [operation] : operation
  const ofIceberg = names.filter((name) => name.startsWith('iceberg.'))
  if (ofIceberg.length > 0 && (running !== undefined || expired !== undefined || stale === 'token'))
    throw invalid('fault: for an endpoint of Iceberg REST, give delay, fail or stale: "state".')
  const all = (changes: boolean) =>
    names.length > 0 &&
    names.every((name) => operations[name as OperationName]?.definition.changes === changes)
  if (running !== undefined && all(false))
    throw invalid(`fault: running is for operations that change something, and ${names[0]} does not.`)
  if (stale !== undefined && all(true))
    throw invalid(`fault: stale is for operations that read, and ${names[0]} changes the catalog.`)
  const isType = typeof fail === 'string' && Object.hasOwn(errorStatuses, fail)
  if (isType && (ofIceberg.length === 0 || ofIceberg.length < names.length))
    throw invalid(
      `fault: ${fail} is an error of Iceberg REST; name an endpoint as the operation, such as iceberg.updateTable.`,
    )
}

/** The message for an issue, which begins with the field's name. */
function issueText(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue)
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const fields = ['match', ...Object.keys(entries)]
    const name = path ?? ''
    return `${name} is not a field of a fault. ${didYouMean(name, fields)}Its fields are ${fields.join(', ')}`
  }
  return path ? `${path} ${issue.message}` : issue.message
}

/** Whether a call is inside a transaction, and the id of the `beginTransaction` that it is part of, or ends. */
export interface CallContext {
  readonly isInside: boolean
  readonly open?: string | undefined
}

/**
 * Whether a fault matches a call, before `nth` and `times`. `definition` is undefined for a transaction.
 */
export function matches(
  fault: Fault,
  call: Matched,
  definition: AnyOperation | undefined,
  { isInside, open }: CallContext,
): boolean {
  const { operation, table, namespace, running, stale, expired, match } = fault
  if (operation !== undefined) {
    const isNamed =
      typeof operation === 'string' ? operation === call.operation : operation.includes(call.operation)
    if (!isNamed) return false
  }
  const isWork = !isInside && definition !== undefined && !beginsOrEnds(definition.name)
  if (running !== undefined && !(isWork && definition.changes)) return false
  if (expired !== undefined && open === undefined) return false
  if (stale !== undefined && (isInside || definition?.changes !== false)) return false
  if (stale === 'token' && !call.request.page_token) return false
  if (table !== undefined || namespace !== undefined) {
    const named = definition === undefined ? [] : identifiersIn(definition, call.request)
    if (table !== undefined && !named.some((id) => sameNames(id, table))) return false
    if (namespace !== undefined && !named.some((id) => isWithin(id, namespace))) return false
  }
  return match === undefined || match(call) === true
}

/** Whether a fault matches a request to an endpoint, which it must name. */
export function matchesEndpoint(fault: Fault, call: EndpointCall): boolean {
  const { operation = [], table, namespace, stale, match } = fault
  const names = typeof operation === 'string' ? [operation] : operation
  if (!names.includes(call.operation)) return false
  if (stale !== undefined && call.changes) return false
  if (table !== undefined && !call.named.some((id) => sameNames(id, table))) return false
  if (namespace !== undefined && !call.named.some((id) => isWithin(id, namespace))) return false
  return match === undefined || match(call) === true
}

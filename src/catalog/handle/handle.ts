// Projects without types of Node may not have this part of the language.
/// <reference lib="esnext.disposable" preserve="true" />

import { CatalogError, invalid } from '../../base/errors.ts'
import { inspected } from '../../base/inspected.ts'
import { isSignal, noSignal } from '../../base/scheduling/signals.ts'
import type { SessionServer } from '../../base/store/records.ts'
import {
  type AnyOperation,
  type Invocable,
  type Isolation,
  invoke,
  type OperationOptions,
} from '../operations/framework/operation.ts'
import { operations } from '../operations/index.ts'
import type { OperationMethods } from '../operations/types/methods.ts'
import type { recordedByCommit } from '../transactions/work-record.ts'
import { type Iterate, iterations } from './iteration/iteration.ts'
import type { Iteration } from './iteration/types.ts'
import type { CatalogMetrics } from './metrics-types.ts'
import type { Changes, Watching, WatchRequest } from './watch-types.ts'

export type { CatalogMetrics, StoreConnections } from './metrics-types.ts'
export type {
  Changes,
  CommittedChange,
  SubjectChange,
  VersionSpan,
  Watching,
  WatchRequest,
} from './watch-types.ts'
export type { OperationMethods }

/** The member by which a handle gives the state of its store to response caches. */
export const storeState = Symbol('storeState')

/** Stands for the state of a store that cannot report one. */
export const unknownState = Symbol('unknownState')

type StoreState = number | string | typeof unknownState

/** The member by which a handle reads from its store, for health checks of servers. */
export const readStore = Symbol('readStore')

/** The member by which a server finds out where open transactions are held. */
export const heldTransactions = Symbol('heldTransactions')

/** The key of the member that starts the upkeep. */
export const startUpkeep = Symbol('startUpkeep')

/** Where open transactions are held, for several servers over one catalog. */
export interface HeldTransactions {
  /** The server that holds a caller's transaction, if it is another one, and how long its lease lasts. */
  serverOf(
    id: string,
    owner: string | undefined,
  ): Promise<{ readonly server: SessionServer; readonly leaseMillis: number } | undefined>
  /** Records that the server of a transaction has ended, so that it can no longer commit. */
  serverEnded(id: string, server: SessionServer): Promise<void>
  /** The error for an operation in a transaction that is not open here. */
  refusal(id: string, owner: string | undefined): Promise<CatalogError>
}

/** An open catalog, wherever it is. */
export interface Catalog extends OperationMethods, Iteration, Watching, Invocable, AsyncDisposable {
  /**
   * Refuses new operations, waits for those under way, and releases everything. May be called again; `await using`
   * calls it at the end of its block.
   */
  close(): Promise<void>
  /** What the catalog counts and holds now; absent where it lies behind a server. See {@link CatalogMetrics}. */
  metrics?(): Promise<CatalogMetrics>
  /**
   * The state of the store that the answers of `method` follow from. Undefined when they may follow from more: a hook
   * decides, or `method` is not the handle's own. Undefined also when the handle is closed. {@link unknownState} where
   * only the store decides, and cannot report its state. `isFromStore` of an operation's definition says for which
   * requests the answers follow from the store.
   */
  readonly [storeState]?: (method: unknown) => StoreState | undefined
  readonly [heldTransactions]?: HeldTransactions
  /** Makes one small read of the store, past all caches; absent where the store is elsewhere. */
  readonly [readStore]?: () => Promise<unknown>
  /** Starts the upkeep, and returns at once; absent where another process does it. */
  readonly [startUpkeep]?: () => void
}

/** The inside of a transaction: every operation, on what the catalog held before and on the transaction's own changes. */
export interface Transaction extends OperationMethods, Iteration, Invocable {
  /** The id by which the transaction can be described, and canceled, from anywhere. */
  readonly transactionId: string
}

export interface TransactionOptions extends Pick<OperationOptions, 'signal' | 'onProgress'> {
  /** How often the function runs at most, when others change what it read. Default: 50. */
  readonly attempts?: number | undefined
  /**
   * What the commit compares. `Serializable`: everything that the function read must still read the same.
   * `ReadCommitted`: only what its changes themselves looked at, such as names that they take. What the function learned
   * by reading may have changed meanwhile, and two reads may be of two moments. Default: `Serializable`.
   */
  readonly isolation?: Isolation | undefined
  /** For adapters of other protocols. */
  readonly [recordedByCommit]?: true | undefined
}

/** Runs a function whose operations are committed together. */
export type Transact = <T>(
  work: (tx: Transaction) => T | Promise<T>,
  options?: TransactionOptions,
) => Promise<T>

/** What a handle calls to run operations and to close. */
export interface Backing {
  run(operation: AnyOperation, request: unknown, options: OperationOptions): Promise<unknown>
  /** What the handle is and where, for people. Holds no secret. */
  title(): string
  /** Runs a function as a transaction, where the catalog has transactions over many operations. */
  transact?: Transact
  /** Watches what is committed. */
  watch(request: WatchRequest | undefined): Changes
  /** The state of the store, where nothing but the store decides what operations answer. */
  readonly storeState?: (() => StoreState | undefined) | undefined
  readonly held?: HeldTransactions
  /** Makes one small read of the store. */
  readonly readStore?: () => Promise<unknown>
  /** Starts the upkeep. Returns at once. */
  readonly startUpkeep?: () => void
  close(): Promise<void>
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Makes the handle of a catalog; its methods follow from the record of operations. `own` is what it has besides. */
export function createHandle<Own extends object>(
  backing: Backing & Required<Pick<Backing, 'transact'>>,
  own?: Own,
): Catalog & { transaction: Transact } & Own
export function createHandle<Own extends object>(
  backing: Backing,
  own?: Own,
): Catalog & { transaction?: Transact } & Own {
  let closing: Promise<void> | undefined
  let running = 0
  let idle: (() => void) | undefined
  const done = () => {
    if (--running === 0) idle?.()
  }
  const handle = Object.create(parent) as Mutable<
    Catalog & { transaction?: Transact; [inspected]?: () => string }
  >
  // Assigned one by one: a literal with symbols as keys takes V8 three times as long. Not async: each async function on
  // the way to the operation adds a wait, a twentieth of the time of the shortest one.
  handle[invoke] = (operation, request, options) => {
    if (closing) return Promise.reject(closed(operation.name))
    const signal: unknown = options?.signal
    if (signal !== undefined && !isSignal(signal)) return Promise.reject(noSignal(operation.name))
    running++
    const result = backing.run(operation, request, options)
    result.then(done, done)
    return result
  }
  if (backing.transact) {
    handle.transaction = (work, options) => {
      if (closing) return Promise.reject(closed('transaction'))
      running++
      const result = backing.transact!(work, options)
      result.then(done, done)
      return result
    }
  }
  handle.watch = (request) => {
    if (closing) throw closed('watch')
    return backing.watch(request)
  }
  handle[storeState] = (method) =>
    closing || handleOf.get(method as Method) !== handle ? undefined : backing.storeState?.()
  if (backing.held) handle[heldTransactions] = backing.held
  if (backing.readStore) {
    handle[readStore] = () => (closing ? Promise.reject(closed('readStore')) : backing.readStore!())
  }
  if (backing.startUpkeep) {
    handle[startUpkeep] = () => {
      if (!closing) backing.startUpkeep!()
    }
  }
  handle[inspected] = () => (closing ? `${backing.title()} (closed)` : backing.title())
  handle.close = () => {
    closing ??= whenIdle().then(() => backing.close())
    return closing
  }
  handle[Symbol.asyncDispose] = () => handle.close()
  const whenIdle = () =>
    new Promise<void>((resolve) => {
      idle = resolve
      if (running === 0) resolve()
    })
  for (const name in own) if (!Object.hasOwn(parent, name)) reserveMember(name)
  return Object.assign(handle, own) as typeof handle & Own
}

type Method = (request: unknown, options?: OperationOptions) => Promise<unknown>

/** The handle that each method was made for: a method that replaces one is not here, or has another handle. */
const handleOf = new WeakMap<Method, Invocable>()

const makers: Readonly<Record<string, (handle: Invocable) => (...given: never[]) => unknown>> =
  Object.fromEntries([
    ...Object.entries(operations).map(([name, { definition }]) => [
      name,
      methodOf(definition as unknown as AnyOperation),
    ]),
    ...Object.entries(iterations).map(([name, iterate]) => [name, iterationOf(iterate)]),
  ])

/**
 * What all handles inherit. A method is bound to its handle when it is first read. So it may be passed around alone,
 * and a fork pays nothing for methods that are never called. The method on the prototype itself, which test doubles
 * read before they replace it, works on its `this`.
 */
const methods: object = new Proxy(
  Object.fromEntries(
    Object.entries(makers).map(([name, make]) => [
      name,
      function (this: Invocable, ...given: never[]) {
        if (this === undefined)
          throw invalid(`${name} was taken off its catalog. Call it as catalog.${name}(…).`)
        return make(this)(...given)
      },
    ]),
  ),
  {
    get(inherited, name, handle: Invocable) {
      if (typeof name !== 'string' || !Object.hasOwn(makers, name)) return Reflect.get(inherited, name)
      const value = makers[name]!(handle)
      Object.defineProperty(handle, name, { value, enumerable: true, writable: true, configurable: true })
      return value
    },
  },
)

/**
 * Stands between handles and `methods`, and has each member that any handle has: an assignment that reaches the proxy
 * takes ten times as long.
 */
const parent: object = Object.create(methods)
for (const name of [
  invoke,
  'transaction',
  'watch',
  storeState,
  heldTransactions,
  readStore,
  inspected,
  'close',
  Symbol.asyncDispose,
])
  reserveMember(name)

function reserveMember(name: string | symbol): void {
  Object.defineProperty(parent, name, { value: undefined, writable: true })
}

function methodOf(definition: AnyOperation) {
  return (handle: Invocable) => {
    const method: Method = (request, options = {}) => handle[invoke](definition, request, options)
    handleOf.set(method, handle)
    return method
  }
}

function iterationOf(iterate: Iterate) {
  return (handle: Invocable) =>
    (request: Readonly<Record<string, unknown>> = {}, options: OperationOptions = {}) =>
      iterate(handle as Invocable & OperationMethods, request, options)
}

function closed(operation: string): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `${operation} came after the catalog was closed. Open the catalog again.`,
  )
}

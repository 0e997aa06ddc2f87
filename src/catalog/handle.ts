import { CatalogError } from '../errors.ts'
import type { Isolation } from '../operations/framework/inside.ts'
import {
  type AnyOperation,
  type Invocable,
  invoke,
  type OperationOptions,
} from '../operations/framework/operation.ts'
import { type OperationName, operations } from '../operations/index.ts'

/** Every operation as a method: `catalog.renameTable(request)` is `renameTable(catalog, request)`. */
export type OperationMethods = {
  readonly [Name in OperationName]: (
    request: Parameters<(typeof operations)[Name]>[1],
    options?: OperationOptions,
  ) => ReturnType<(typeof operations)[Name]>
}

/** The member by which a handle offers the state of its store to caches of answers. */
export const storeState = Symbol('storeState')

/** An open catalog, wherever it is. */
export interface Catalog extends OperationMethods, Invocable, AsyncDisposable {
  /**
   * Refuses new operations, waits for those under way, and lets go of everything. Harmless when called again;
   * `await using` calls it at the end of its block.
   */
  close(): Promise<void>
  /**
   * The state of the store that the answers of `method` follow from. Undefined when they may follow from more: a hook
   * decides, or `method` is not the handle's own. Undefined also when the store cannot tell its state, or the handle is
   * closed. `isFromStore` of an operation's definition says for which requests the answers follow from the store.
   */
  readonly [storeState]?: (method: unknown) => number | string | undefined
}

/** The inside of a transaction: every operation, on what the catalog held before and on the transaction's own changes. */
export interface Transaction extends OperationMethods, Invocable {
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
}

/** Runs a function whose operations are committed together. */
export type Transact = <T>(
  work: (tx: Transaction) => T | Promise<T>,
  options?: TransactionOptions,
) => Promise<T>

/** What a handle is made of: how to run an operation, and how to let go. */
export interface Backing {
  run(
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions,
    done: () => void,
  ): Promise<unknown>
  /** Runs a function as a transaction, where the catalog has transactions over many operations. */
  transact?: Transact
  /** Whether `run` calls `done` itself when an operation is answered, since it listens to the answers anyway. */
  readonly callsDone?: boolean
  /** The state of the store, where nothing but the store decides what operations answer. */
  readonly storeState?: (() => number | string | undefined) | undefined
  close(): Promise<void>
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Makes the handle of a catalog; its methods follow from the record of operations. */
export function createHandle(
  backing: Backing & Required<Pick<Backing, 'transact'>>,
): Catalog & { transaction: Transact }
export function createHandle(backing: Backing): Catalog & { transaction?: Transact }
export function createHandle(backing: Backing): Catalog & { transaction?: Transact } {
  let closing: Promise<void> | undefined
  let running = 0
  let idle: () => void = () => {}
  const done = () => {
    if (--running === 0) idle()
  }
  const handle: Mutable<Catalog & { transaction?: Transact }> = Object.create(methods)
  // Assigned one by one: a literal with symbols as keys takes V8 three times as long.
  // No async function: each one between the caller and the operation is another wait, a twentieth of the
  // time of the shortest operation.
  handle[invoke] = (operation, request, options) => {
    if (closing) return Promise.reject(closed(operation.name))
    running++
    const result = backing.run(operation, request, options, done)
    if (!backing.callsDone) result.then(done, done)
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
  handle[storeState] = (method) =>
    closing || handleOf.get(method as Method) !== handle ? undefined : backing.storeState?.()
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
  return handle
}

type Method = (request: unknown, options?: OperationOptions) => Promise<unknown>

/** The handle that each method was made for: a method that replaces one is not here, or has another handle. */
const handleOf = new WeakMap<Method, Invocable>()

/**
 * What all handles inherit. A method is bound to its handle when it is first asked for. So it may be passed around
 * alone, and a fork pays nothing for methods that are never called. Like any method, it may be replaced on a handle,
 * as test doubles do.
 */
const methods: object = Object.defineProperties(
  {},
  Object.fromEntries(
    Object.entries(operations).map(([name, { definition }]) => [
      name,
      methodOf(name, definition as unknown as AnyOperation),
    ]),
  ),
)

/** The method an operation is on a handle: made when it is first asked for, and then the handle's own. */
function methodOf(name: string, definition: AnyOperation): PropertyDescriptor {
  const keep = (handle: Invocable, value: unknown) => {
    Object.defineProperty(handle, name, { value, enumerable: true, writable: true, configurable: true })
    return value
  }
  return {
    enumerable: true,
    get(this: Invocable) {
      const method: Method = (request, options = {}) => this[invoke](definition, request, options)
      handleOf.set(method, this)
      return keep(this, method)
    },
    set(this: Invocable, value: unknown) {
      keep(this, value)
    },
  }
}

function closed(operation: string): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `${operation} came after the catalog was closed. Open the catalog again.`,
  )
}

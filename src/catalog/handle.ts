import { CatalogError } from '../errors.ts'
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

/** The member by which a handle offers the state of its store to those who cache answers. */
export const storeState = Symbol('storeState')

/** An open catalog, wherever it is. */
export interface Catalog extends OperationMethods, Invocable, AsyncDisposable {
  /**
   * Refuses new operations, waits for those under way, and lets go of everything. Harmless when called again;
   * `await using` calls it at the end of its block.
   */
  close(): Promise<void>
  /**
   * The state that the answers of `method` follow from, as `state` of a store tells it. Undefined when the answers
   * may follow from more: a hook decides, `method` replaces the handle's own one, the store cannot tell its state, or
   * the handle is closed. Which requests have such answers is told by `isFromStore` of an operation's definition.
   */
  readonly [storeState]?: (method: unknown) => number | string | undefined
}

/** What a handle is made of: how to run an operation, and how to let go. */
export interface Backing {
  run(
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions,
    done: () => void,
  ): Promise<unknown>
  /** It calls `done` itself when an operation is answered: for those who listen to the answers anyway. */
  readonly callsDone?: boolean
  /** The state of the store, where nothing but the store decides what operations answer. */
  readonly storeState?: () => number | string | undefined
  close(): Promise<void>
}

/** Makes the handle of a catalog; its methods follow from the record of operations. */
export function createHandle(backing: Backing): Catalog {
  let closing: Promise<void> | undefined
  let running = 0
  let idle: () => void = () => {}
  const done = () => {
    if (--running === 0) idle()
  }
  const own: Pick<Catalog, typeof invoke | typeof storeState | 'close' | typeof Symbol.asyncDispose> = {
    // No async function: each one between the caller and the operation is another wait, a twentieth of the
    // time of the shortest operation.
    [invoke](operation, request, options) {
      if (closing) return Promise.reject(closed(operation.name))
      running++
      const result = backing.run(operation, request, options, done)
      if (!backing.callsDone) result.then(done, done)
      return result
    },
    [storeState](method) {
      return closing || handleOf.get(method as Method) !== handle ? undefined : backing.storeState?.()
    },
    close() {
      closing ??= whenIdle().then(() => backing.close())
      return closing
    },
    [Symbol.asyncDispose]: () => handle.close(),
  }
  const handle: Catalog = Object.assign(Object.create(methods), own)
  const whenIdle = () =>
    new Promise<void>((resolve) => {
      idle = resolve
      if (running === 0) resolve()
    })
  return handle
}

type Method = (request: unknown, options?: OperationOptions) => Promise<unknown>

/** The handles that methods were made for, by which a method that replaced one is told from it. */
const handleOf = new WeakMap<Method, Invocable>()

/**
 * What all handles inherit. A method is bound to its handle when it is first asked for, so that it may be
 * passed around alone, and yet a fork costs nothing for the many that nobody asks for. Like any method, it may
 * be replaced on a handle, as test doubles do.
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

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

/** An open catalog, wherever it is. */
export interface Catalog extends OperationMethods, Invocable, AsyncDisposable {
  /**
   * Refuses new operations, waits for those under way, and lets go of everything. Harmless when called again;
   * `await using` calls it at the end of its block.
   */
  close(): Promise<void>
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
  const own: Invocable & AsyncDisposable & { close(): Promise<void> } = {
    // No async function: each one between the caller and the operation is another wait, a twentieth of the
    // time of the shortest operation.
    [invoke](operation, request, options) {
      if (closing) return Promise.reject(closed(operation.name))
      running++
      const result = backing.run(operation, request, options, done)
      if (!backing.callsDone) result.then(done, done)
      return result
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

/**
 * What all handles inherit. A method is bound to its handle when it is first asked for, so that it may be
 * passed around alone, and yet a fork costs nothing for the many that nobody asks for. Like any method, it may
 * be replaced on a handle, as test doubles do.
 */
const methods: object = Object.defineProperties(
  {},
  Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [name, methodOf(name, operation)]),
  ),
)

/** The method an operation is on a handle: made when it is first asked for, and then the handle's own. */
function methodOf(
  name: string,
  operation: (handle: Invocable, request: never, options?: OperationOptions) => unknown,
): PropertyDescriptor {
  const keep = (handle: Invocable, value: unknown) => {
    Object.defineProperty(handle, name, { value, enumerable: true, writable: true, configurable: true })
    return value
  }
  return {
    enumerable: true,
    get(this: Invocable) {
      return keep(this, (request: never, options?: OperationOptions) => operation(this, request, options))
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

import { CatalogError } from './errors.ts'
import { type OperationName, operations } from './operations/index.ts'
import {
  type AnyOperation,
  type Invocable,
  invoke,
  type OperationOptions,
} from './operations/support/operation.ts'

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
  run(operation: AnyOperation, request: unknown, options: OperationOptions): Promise<unknown>
  close(): Promise<void>
}

/** Makes the handle of a catalog; its methods follow from the record of operations. */
export function createHandle(backing: Backing): Catalog {
  let closing: Promise<void> | undefined
  let running = 0
  let idle: () => void = () => {}
  const handle: Invocable & AsyncDisposable & { close(): Promise<void> } = {
    async [invoke](operation, request, options) {
      if (closing) throw closed(operation.name)
      running++
      try {
        return await backing.run(operation, request, options)
      } finally {
        if (--running === 0) idle()
      }
    },
    close() {
      closing ??= whenIdle().then(() => backing.close())
      return closing
    },
    [Symbol.asyncDispose]: () => handle.close(),
  }
  const whenIdle = () =>
    new Promise<void>((resolve) => {
      idle = resolve
      if (running === 0) resolve()
    })
  return Object.assign(handle, methodsOf(handle)) as unknown as Catalog
}

function methodsOf(handle: Invocable): Record<string, unknown> {
  const methods: Record<string, unknown> = {}
  for (const [name, { definition }] of Object.entries(operations)) {
    methods[name] = (request: unknown, options: OperationOptions = {}) =>
      handle[invoke](definition as unknown as AnyOperation, request, options)
  }
  return methods
}

function closed(operation: string): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `${operation} came after the catalog was closed. Open the catalog again.`,
  )
}

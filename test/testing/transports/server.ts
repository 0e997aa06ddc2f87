import type { Duplex } from 'node:stream'
import { type Catalog, CatalogError, type OperationOptions, operations } from 'tabularium'
import { type Answered, type Asked, receive, send } from './lines.ts'

type Call = (request: unknown, options: OperationOptions) => Promise<unknown>

/** Serves a catalog over a stream, until the stream ends. The catalog stays open. */
export async function serveLines(catalog: Catalog, stream: Duplex): Promise<void> {
  const running = new Map<number, AbortController>()

  async function answer({ call, operation, request, transaction }: Asked): Promise<void> {
    const controller = new AbortController()
    running.set(call, controller)
    const outcome = await run(catalog, operation, request, { signal: controller.signal, transaction })
    running.delete(call)
    if (stream.writable) send(stream, { call, ...outcome })
  }

  await receive<Asked>(stream, (asked) => {
    if (asked.stop) running.get(asked.call)?.abort()
    else void answer(asked)
  })
  // Stops the calls that still run.
  for (const controller of running.values()) controller.abort()
}

async function run(
  catalog: Catalog,
  operation: Asked['operation'],
  request: unknown,
  options: OperationOptions,
): Promise<Omit<Answered, 'call'>> {
  try {
    // Only operations in the record may be called, no other member of the handle.
    if (operation === undefined || !Object.hasOwn(operations, operation)) {
      throw new CatalogError(
        'Unsupported',
        `There is no operation ${operation}. See the record of operations.`,
      )
    }
    return { answer: await (catalog[operation] as Call)(request, options) }
  } catch (error) {
    return { error: describeError(error) }
  }
}

/** Hides the message of an unexpected error, which is not meant for callers. */
function describeError(error: unknown): NonNullable<Answered['error']> {
  if (error instanceof CatalogError && error.code !== 'Internal') {
    const { code, message, transaction_id } = error
    return { code, message, transaction_id }
  }
  return { code: 'Internal', message: 'Something went wrong in the server. Its log says more.' }
}

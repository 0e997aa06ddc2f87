import type { Duplex } from 'node:stream'
import {
  type Catalog,
  CatalogError,
  type OperationOptions,
  operations,
} from '../../../src/tabularium/index.ts'
import { type Answered, type Asked, receive, send } from './lines.ts'

type Call = (request: unknown, options: OperationOptions) => Promise<unknown>

/** Offers a catalog at the other end of a stream, until the stream ends. The catalog stays open. */
export async function serveLines(catalog: Catalog, stream: Duplex): Promise<void> {
  const running = new Map<number, AbortController>()

  async function answer({ call, operation, request, transaction }: Asked): Promise<void> {
    const controller = new AbortController()
    running.set(call, controller)
    const told = await run(catalog, operation, request, { signal: controller.signal, transaction })
    running.delete(call)
    if (stream.writable) send(stream, { call, ...told })
  }

  await receive<Asked>(stream, (asked) => {
    if (asked.stop) running.get(asked.call)?.abort()
    else void answer(asked)
  })
  // Nobody waits for what is still under way.
  for (const controller of running.values()) controller.abort()
}

async function run(
  catalog: Catalog,
  operation: Asked['operation'],
  request: unknown,
  options: OperationOptions,
): Promise<Omit<Answered, 'call'>> {
  try {
    // The record of operations is the list of what may be called: nothing else of the handle is in reach.
    if (operation === undefined || !Object.hasOwn(operations, operation)) {
      throw new CatalogError(
        'Unsupported',
        `There is no operation ${operation}. See the record of operations.`,
      )
    }
    return { answer: await (catalog[operation] as Call)(request, options) }
  } catch (error) {
    return { error: told(error) }
  }
}

/** What is unexpected stays here: its text was not written for callers. */
function told(error: unknown): NonNullable<Answered['error']> {
  if (error instanceof CatalogError && error.code !== 'Internal') {
    const { code, message, transaction_id } = error
    return { code, message, transaction_id }
  }
  return { code: 'Internal', message: 'Something went wrong in the server. Its log says more.' }
}

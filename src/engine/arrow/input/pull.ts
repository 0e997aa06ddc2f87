import { CatalogError, invalid } from '../../../base/errors.ts'
import type { RowsItem, RowsSource } from '../types.ts'

/** Iterables that give their items only once, and have begun to. */
const begun = new WeakSet<object>()

/**
 * The items of a source, pulled one at a time as the caller asks for them. Ends at once when the signal aborts, also
 * while the source makes an item. Once this has ended, the source was told so, and its own `finally` has run.
 *
 * Throws `InvalidInput` with the cause when the source fails, and `ConcurrentModification` for a generator or stream that
 * was read before.
 */
export async function* pulled(
  source: RowsSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<RowsItem, void, void> {
  const iterator = iteratorOf(source)
  const wait = waiter(signal)
  let isDone = false
  try {
    for (;;) {
      signal?.throwIfAborted()
      const asked = next(iterator)
      const result = asked instanceof Promise ? await wait.for(asked) : asked
      if (result.done) {
        isDone = true
        return
      }
      yield result.value
    }
  } catch (error) {
    isDone = error instanceof SourceFailed
    throw error instanceof SourceFailed ? sourceFailed(error.cause) : error
  } finally {
    wait.end()
    if (!isDone) await stop(iterator, signal)
  }
}

type Items = Iterator<RowsItem> | AsyncIterator<RowsItem>

function iteratorOf(source: RowsSource): Items {
  const known = source as Partial<AsyncIterable<RowsItem> & Iterable<RowsItem> & ReadableStream<RowsItem>>
  if (begun.has(source)) {
    throw new CatalogError(
      'ConcurrentModification',
      'The generator or stream of the rows was read before, perhaps since another writer changed the table meanwhile. Make a new one, and begin again.',
    )
  }
  if (known[Symbol.asyncIterator] === undefined && typeof known.getReader === 'function') {
    begun.add(source)
    return readerOf(known as ReadableStream<RowsItem>)
  }
  const iterator = known[Symbol.asyncIterator]?.() ?? known[Symbol.iterator]!()
  const isStream = typeof known.getReader === 'function' || 'readable' in source
  if (isStream || (iterator as object) === source) begun.add(source)
  return iterator
}

/** Some browsers cannot iterate over streams. */
function readerOf(stream: ReadableStream<RowsItem>): AsyncIterator<RowsItem> {
  const reader = stream.getReader()
  return {
    next: () => reader.read() as Promise<IteratorResult<RowsItem>>,
    return: async (value) => {
      await reader.cancel()
      return { done: true, value }
    },
  }
}

/** An error of the source itself. */
class SourceFailed extends Error {}

function next(iterator: Items): IteratorResult<RowsItem> | Promise<IteratorResult<RowsItem>> {
  try {
    const result = iterator.next()
    if (!(result instanceof Promise) && typeof (result as { then?: unknown }).then !== 'function')
      return result as IteratorResult<RowsItem>
    return Promise.resolve(result).catch((cause) => {
      throw new SourceFailed('', { cause })
    })
  } catch (cause) {
    throw new SourceFailed('', { cause })
  }
}

function sourceFailed(cause: unknown): unknown {
  if (cause instanceof CatalogError) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return invalid(
    `The source of the rows failed: ${why.slice(0, 1_000) || 'it gave no reason'}. Nothing was written. Begin again once it works.`,
    { cause },
  )
}

/** Waits for promises, or until the signal aborts. One listener serves all: a race for each would keep them all. */
function waiter(signal: AbortSignal | undefined) {
  let stopNow: ((reason: unknown) => void) | undefined
  const onAbort = () => stopNow?.(signal!.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  return {
    for: <T>(promise: Promise<T>): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        stopNow = reject
        promise.then(resolve, reject)
      }),
    end: () => signal?.removeEventListener('abort', onAbort),
  }
}

/** Tells the source that no more items are wanted. An error of it must not hide the one before. */
async function stop(iterator: Items, signal: AbortSignal | undefined): Promise<void> {
  try {
    const stopped = Promise.resolve(iterator.return?.()).catch(() => {})
    // A source that hangs would hang in here, too.
    if (!signal?.aborted) await stopped
  } catch {
    // As above.
  }
}

/**
 * Works on the next items while the caller handles the one before. Results come in order. Once the generator has ended,
 * for any reason, no work is running. `plan.depth` limits the running work and may change.
 */
export async function* prefetch<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R>,
  plan: { readonly depth: number } = { depth: 2 },
): AsyncGenerator<R> {
  const waiting: Promise<R>[] = []
  try {
    for await (const item of items) {
      const result = work(item)
      // The result is awaited later. If the caller stops before, a failure must not be an unhandled rejection.
      result.catch(() => {})
      waiting.push(result)
      if (waiting.length > plan.depth) yield await waiting.shift()!
    }
    while (waiting.length > 0) yield await waiting.shift()!
  } finally {
    if (waiting.length > 0) await Promise.allSettled(waiting)
  }
}

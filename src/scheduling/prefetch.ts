/**
 * Works on the next items while the caller uses a result; results come in order. When the loop ends, also by an
 * error or a `break`, no work is under way any more. `plan.depth` limits the work under way, and may change.
 */
export async function* ahead<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R>,
  plan: { readonly depth: number } = { depth: 2 },
): AsyncGenerator<R> {
  const waiting: Promise<R>[] = []
  try {
    for await (const item of items) {
      const result = work(item)
      // The loop below awaits it. When the caller stops before that, nobody needs to hear of its failure.
      result.catch(() => {})
      waiting.push(result)
      if (waiting.length > plan.depth) yield await waiting.shift()!
    }
    while (waiting.length > 0) yield await waiting.shift()!
  } finally {
    await Promise.allSettled(waiting)
  }
}

/**
 * Works on the next items while the caller looks at the one before. Results come in order. No work is under way any
 * more when the generator has ended, for whatever reason. `plan.depth` limits the work under way and may change.
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
      // The result is awaited in its turn. If the caller stops before, nobody hears of a failure.
      result.catch(() => {})
      waiting.push(result)
      if (waiting.length > plan.depth) yield await waiting.shift()!
    }
    while (waiting.length > 0) yield await waiting.shift()!
  } finally {
    await Promise.allSettled(waiting)
  }
}

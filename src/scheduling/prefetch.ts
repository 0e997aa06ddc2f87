/**
 * Works on the next items while the caller looks at the one before; results come in order. However it ends,
 * nothing is under way any more when it has. `plan.depth` says how many may be under way; it may change meanwhile.
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
      // It is awaited in its turn; if the caller stops before, its failure is nobody's.
      result.catch(() => {})
      waiting.push(result)
      if (waiting.length > plan.depth) yield await waiting.shift()!
    }
    while (waiting.length > 0) yield await waiting.shift()!
  } finally {
    await Promise.allSettled(waiting)
  }
}

/** Reads for the next item while the caller works on the one before; results come in order. */
export async function* ahead<T, R>(
  items: AsyncIterable<T>,
  read: (item: T) => Promise<R>,
  depth = 2,
): AsyncGenerator<R> {
  const waiting: Promise<R>[] = []
  for await (const item of items) {
    const result = read(item)
    // It is awaited in its turn; if the caller stops before, its failure is nobody's.
    result.catch(() => {})
    waiting.push(result)
    if (waiting.length > depth) yield await waiting.shift()!
  }
  while (waiting.length > 0) yield await waiting.shift()!
}

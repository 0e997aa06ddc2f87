/**
 * Runs work with the same key one after the other, in the order of the calls. So writers of one table in one process do
 * not conflict. Conflicts between processes are resolved at the commit.
 */
export function keyedQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const before = last.get(key) ?? Promise.resolve()
    const result = before.then(work, work)
    last.set(key, result)
    const forget = () => {
      if (last.get(key) === result) last.delete(key)
    }
    result.then(forget, forget)
    return result
  }
}

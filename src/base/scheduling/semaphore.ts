/** Lets a number of pieces of work run at once; the others wait. */
export interface Semaphore {
  /**
   * Takes a permit. Undefined when one was free, otherwise a promise of the next one. The promise rejects with
   * the reason of the signal, if one is given, when the signal aborts first; then no permit is taken.
   */
  acquire(signal?: AbortSignal): Promise<void> | undefined
  release(): void
}

export function semaphore(permits: number): Semaphore {
  let free = permits
  const waiting: (() => void)[] = []
  return {
    acquire(signal) {
      if (free > 0) {
        free--
        return undefined
      }
      return new Promise((resolve, reject) => {
        const go = () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        }
        const stop = () => {
          waiting.splice(waiting.indexOf(go), 1)
          reject(signal!.reason)
        }
        waiting.push(go)
        signal?.addEventListener('abort', stop, { once: true })
      })
    },
    release() {
      const next = waiting.shift()
      if (next) next()
      else free++
    },
  }
}

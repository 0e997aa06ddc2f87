/**
 * Runs work under one key strictly one after the other, in the order it was asked for. Within a process this
 * spares writers of one table from overtaking each other; between processes the commit itself decides.
 */
export function turns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const before = last.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    last.set(key, mine)
    const forget = () => {
      if (last.get(key) === mine) last.delete(key)
    }
    mine.then(forget, forget)
    return mine
  }
}

/** Lets so many pieces of long work run at once; the others wait. */
export interface Slots {
  /**
   * Takes a slot: undefined when one was free, otherwise a promise of the next one. It rejects with the
   * signal's reason, no slot taken, when that comes first.
   */
  enter(signal: AbortSignal): Promise<void> | undefined
  leave(): void
}

export function slots(count: number): Slots {
  let free = count
  const waiting: (() => void)[] = []
  return {
    enter(signal) {
      if (free > 0) {
        free--
        return undefined
      }
      return new Promise((resolve, reject) => {
        const go = () => {
          signal.removeEventListener('abort', stop)
          resolve()
        }
        const stop = () => {
          waiting.splice(waiting.indexOf(go), 1)
          reject(signal.reason)
        }
        waiting.push(go)
        signal.addEventListener('abort', stop, { once: true })
      })
    },
    leave() {
      const next = waiting.shift()
      if (next) next()
      else free++
    },
  }
}

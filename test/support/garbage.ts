import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Collects garbage. What it frees outside of the heap is counted by the next collection. */
export const collect = runInNewContext('gc') as () => void

/** The bytes in the heap and outside of it, with garbage that was not collected. */
export function bytesUsed(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** The bytes in the heap and outside of it, without garbage. */
export function bytesInUse(): number {
  collect()
  collect()
  return bytesUsed()
}

/** The outcome of work beside a garbage collector that runs again and again. */
export async function whileCollecting<T>(work: Promise<T>): Promise<T> {
  // A collection within a task keeps what the task has looked at by weak references, so each has a task of its own.
  const timer = setInterval(collect, 10)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

/**
 * The most of some measure that is seen during work. It is taken again and again, for at most a quarter of the time, and once
 * after the work.
 */
export async function mostDuring(work: Promise<unknown>, measure: () => number): Promise<number> {
  let most = 0
  let timer: NodeJS.Timeout
  const look = () => {
    const before = performance.now()
    most = Math.max(most, measure())
    timer = setTimeout(look, Math.max(10, 3 * (performance.now() - before)))
  }
  look()
  try {
    await work
  } finally {
    clearTimeout(timer!)
  }
  return Math.max(most, measure())
}

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

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

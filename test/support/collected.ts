import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** The outcome of work beside a garbage collector that runs again and again, after so many milliseconds. */
export async function whileCollecting<T>(work: Promise<T>, millis = 10): Promise<T> {
  // A collection within a task keeps what the task has looked at by weak references, so each has a task of its own.
  const timer = setInterval(collect, millis)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

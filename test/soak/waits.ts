import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { scriptPath } from '../support/scripts.ts'

/*
 * On a busy machine both server and client wait for a processor, and on a full one for memory, which is not the server's
 * fault. Linux measures the first for each thread and the second for the machine, so both can be subtracted. The bound
 * of the server's memory is checked by itself.
 */

/** The measurements of one request for `/healthz`. */
export interface Wait {
  /** The elapsed time. */
  readonly tookMillis: number
  /**
   * The elapsed time without the time in which the server's main thread, or the requesting thread, waited for a
   * processor, or any process for memory.
   */
  readonly heldMillis: number
  /** For how long some process of the machine waited for memory meanwhile. */
  readonly lackedMillis: number
  /** The processor time of the server's main thread meanwhile. */
  readonly ranMillis: number
  /** The same, without the part that may be before the request or after its response. */
  readonly workedMillis: number
}

/** The limit for a short response: three times the observed maximum with eight busy threads per processor. */
export const mostHeldMillis = 3_000

/** Requests `/healthz` from a separate thread, which other threads of this process do not delay. */
export class Waits implements AsyncDisposable {
  readonly #thread: Worker
  #last: Promise<unknown> = Promise.resolve()

  /** Starts for the server of a process. The URL has no path. */
  constructor(pid: number, url: string) {
    this.#thread = new Worker(scriptPath('test/soak/children/ask.ts'), { workerData: { pid, url } })
    this.#thread.unref()
  }

  /** Sends one request, after all earlier ones. Fails without a response. */
  ask(): Promise<Wait> {
    const asked = this.#last.then(async () => {
      const answered = once(this.#thread, 'message')
      this.#thread.postMessage('ask')
      const [answer] = (await answered) as [Wait | { error: unknown }]
      if ('error' in answer) throw answer.error
      return answer
    })
    this.#last = asked.catch(() => {})
    return asked
  }

  /** Resolves when the main thread has nothing left to do of earlier requests. */
  async quiet(): Promise<void> {
    // A thread with other work does some of it before each response.
    let inARow = 0
    while (inARow < 10) {
      const { ranMillis } = await this.ask()
      inARow = ranMillis > 10 ? 0 : inARow + 1
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { scriptPath } from '../support/scripts.ts'

/*
 * On a busy machine everybody waits for a processor: the server, and who asks it. That time says nothing of the server.
 * Linux counts it for each thread, so it can be left out.
 */

/** What one request for `/healthz` met. */
export interface Wait {
  /** How long it took by the clock. */
  readonly tookMillis: number
  /**
   * How long the server let it wait, working or not: without the time in which the server's main thread, or the thread
   * that asked, had to wait for a processor.
   */
  readonly heldMillis: number
  /** How long the server's main thread ran meanwhile. */
  readonly ranMillis: number
  /** The same, without what may have come before the request or after its answer. */
  readonly workedMillis: number
}

/** How long a server may hold a short answer: three times what was seen, with eight busy threads to a processor. */
export const mostHeldMillis = 3_000

/** Asks a server how it is, from a thread of its own: what other threads of this process do makes nothing late. */
export class Waits implements AsyncDisposable {
  readonly #thread: Worker
  #last: Promise<unknown> = Promise.resolve()

  /** Begins with the server of a process, whose address has no path. */
  constructor(pid: number, url: string) {
    this.#thread = new Worker(scriptPath('test/soak/children/ask.ts'), { workerData: { pid, url } })
    this.#thread.unref()
  }

  /** Asks once, after all that asked before, and fails when there was no answer. */
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
    // A thread with other work does some of it before each answer.
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

import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { Wait } from '../waits.ts'

/** A thread that asks a server for `/healthz` whenever a message comes, and says what that met. */

const { pid, url } = workerData as { readonly pid: number; readonly url: string }

/** What a thread has used of processors so far, in milliseconds. */
interface Used {
  /** How long it ran. */
  readonly ran: number
  /** How long it could have run, but others had the processors. */
  readonly waited: number
}

function usedBy(thread: string): Used {
  const [ran, waited] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')
  return { ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 }
}

async function ask(): Promise<Wait> {
  const begun = performance.now()
  const [own, server] = [usedBy('thread-self'), usedBy(`${pid}/task/${pid}`)]
  const answer = await fetch(`${url}/healthz`)
  await answer.arrayBuffer()
  const [ownAfter, serverAfter] = [usedBy('thread-self'), usedBy(`${pid}/task/${pid}`)]
  const tookMillis = performance.now() - begun
  const ranMillis = serverAfter.ran - server.ran
  // While this thread was busy or had to wait itself, it may not have sent the request yet, or had the answer already.
  const ownMillis = ownAfter.ran - own.ran + ownAfter.waited - own.waited
  return {
    tookMillis,
    ranMillis,
    workedMillis: Math.max(0, ranMillis - ownMillis),
    heldMillis: Math.max(0, tookMillis - (serverAfter.waited - server.waited) - ownMillis),
  }
}

parentPort!.on('message', () => {
  ask().then(
    (wait) => parentPort!.postMessage(wait),
    (error: unknown) => parentPort!.postMessage({ error }),
  )
})

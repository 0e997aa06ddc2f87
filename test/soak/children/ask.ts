import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { Wait } from '../waits.ts'

/** A thread that requests `/healthz` on each message, and reports the measured times. */

const { pid, url } = workerData as { readonly pid: number; readonly url: string }

/** The processor time of a thread so far, in milliseconds. */
interface Used {
  /** How long it ran. */
  readonly ran: number
  /** How long it was runnable but waited for a processor. */
  readonly waited: number
}

function usedBy(thread: string): Used {
  const [ran, waited] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')
  return { ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 }
}

/** For how long some process of the machine waited for memory so far, in milliseconds; 0 where Linux does not tell. */
function lackedMemory(): number {
  try {
    const some = /^some .*total=(\d+)/.exec(readFileSync('/proc/pressure/memory', 'utf8'))?.[1]
    return Number(some ?? 0) / 1e3
  } catch {
    return 0
  }
}

async function ask(): Promise<Wait> {
  const begun = performance.now()
  const lacked = lackedMemory()
  const [own, server] = [usedBy('thread-self'), usedBy(`${pid}/task/${pid}`)]
  const answer = await fetch(`${url}/healthz`)
  await answer.arrayBuffer()
  const [ownAfter, serverAfter] = [usedBy('thread-self'), usedBy(`${pid}/task/${pid}`)]
  const tookMillis = performance.now() - begun
  const ranMillis = serverAfter.ran - server.ran
  // While this thread ran or waited for a processor, the request may not have been sent, or the response was there already.
  const ownMillis = ownAfter.ran - own.ran + ownAfter.waited - own.waited
  const lackedMillis = lackedMemory() - lacked
  return {
    tookMillis,
    ranMillis,
    workedMillis: Math.max(0, ranMillis - ownMillis),
    lackedMillis,
    heldMillis: Math.max(0, tookMillis - (serverAfter.waited - server.waited) - ownMillis - lackedMillis),
  }
}

parentPort!.on('message', () => {
  ask().then(
    (wait) => parentPort!.postMessage(wait),
    (error: unknown) => parentPort!.postMessage({ error }),
  )
})

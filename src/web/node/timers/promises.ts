import { anySignal } from '../../../base/scheduling/signals.ts'
import { throughChannel } from '../timers.ts'

/** Waits by mechanisms that test suites do not fake. */
class Scheduler {
  wait(millis: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = AbortSignal.timeout(millis)
      const all = anySignal(signal, late)
      all.addEventListener('abort', () => (late.aborted ? resolve() : reject(signal.reason)), { once: true })
    })
  }

  yield(): Promise<void> {
    return new Promise((resolve) => {
      throughChannel(resolve)
    })
  }
}

export default { scheduler: new Scheduler() }

import { unrefTimer } from '../base/scheduling/unref-timer.ts'
import { setTimeout } from '../base/time.ts'

/** In milliseconds. */
const patience = 500

/**
 * Ends the process after an interrupt, although somebody may still hold the other end of a pipe open. A thread that waits to
 * open one would hold up `process.exit`, so a signal ends what has not ended by itself.
 */
export function endSoon(): void {
  process.stdin.destroy()
  const end = () => {
    process.removeAllListeners('SIGINT')
    process.kill(process.pid, 'SIGINT')
  }
  unrefTimer(setTimeout(end, patience))
}

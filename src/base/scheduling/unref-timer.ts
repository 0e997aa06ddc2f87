/** Lets the process end before a timer, in runtimes where timers keep it alive. Returns the timer. */
export function unrefTimer<Timer>(timer: Timer): Timer {
  ;(timer as { unref?(): void }).unref?.()
  return timer
}

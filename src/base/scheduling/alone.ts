/** A timer that does not keep a process alive by itself, in runtimes where timers do. */
export function alone<Timer>(timer: Timer): Timer {
  ;(timer as { unref?(): void }).unref?.()
  return timer
}

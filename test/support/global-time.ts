import { onTestFinished, vi } from 'vitest'
import { performance as ownPerformance, runtime } from '../../src/base/time.ts'

/** Makes the package use the global timers and clocks until the running test ends, so that fake ones apply. */
export function followGlobalTime(): void {
  const { timers, dateNow } = runtime
  const names = Object.keys(timers!) as (keyof NonNullable<typeof timers>)[]
  const following = names.map((name) => [
    name,
    (...given: Parameters<typeof setTimeout>) => (globalThis[name] as typeof setTimeout)(...given),
  ])
  runtime.timers = Object.fromEntries(following)
  runtime.dateNow = () => Date.now()
  const spy = vi.spyOn(ownPerformance, 'now').mockImplementation(() => globalThis.performance.now())
  onTestFinished(() => {
    Object.assign(runtime, { timers, dateNow })
    spy.mockRestore()
  })
}

import { mock } from 'node:test'
import { install } from '@sinonjs/fake-timers'
import { vi } from 'vitest'

/** Fake timers and clocks of test suites. Each returns a function that restores the real ones. */
export const replacements: Readonly<Record<string, () => () => void>> = {
  'vi.useFakeTimers': () => {
    vi.useFakeTimers({ now: 0 })
    return () => vi.useRealTimers()
  },
  'mock.timers of node:test': () => {
    mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'setImmediate', 'Date'], now: 0 })
    return () => mock.timers.reset()
  },
  '@sinonjs/fake-timers': () => {
    // Node delivers messages to workers by nextTick. Faking it would lose the runner's messages, and it would hang.
    const clock = install({ now: 0, toNotFake: ['nextTick'] })
    return () => clock.uninstall()
  },
  'spies that do nothing': () => {
    const spies = [
      vi.spyOn(globalThis, 'setTimeout').mockImplementation(() => 0 as never),
      vi.spyOn(globalThis, 'setImmediate').mockImplementation(() => 0 as never),
      vi.spyOn(globalThis, 'setInterval').mockImplementation(() => 0 as never),
      vi.spyOn(performance, 'now').mockReturnValue(0),
      vi.spyOn(Date, 'now').mockReturnValue(0),
    ]
    return () => {
      for (const spy of spies) spy.mockRestore()
    }
  },
}

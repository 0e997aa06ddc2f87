import { mock } from 'node:test'
import { install } from '@sinonjs/fake-timers'
import { vi } from 'vitest'

/** What test suites put in the places of timers and clocks. Each answers with how to take it away again. */
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
    // Node gives a worker its messages by nextTick: those of the runner would be lost, and it would wait for ever.
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

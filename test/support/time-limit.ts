import fc from 'fast-check'
import { vi } from 'vitest'

/**
 * Gives each test and hook of a file so many seconds, instead of those of vitest.config.ts, and three quarters of them to
 * each `expect.poll`. A file calls it before its tests. It takes six times what its slowest test takes on a machine that
 * does nothing else: a machine of two processors may be asked for eight.
 *
 * A random test is stopped shortly before. To make a failing case smaller takes many more, and a test that ran out of
 * time meanwhile would not tell the failure.
 */
export function limitEach(seconds: number): void {
  const millis = seconds * 1_000
  vi.setConfig({
    testTimeout: millis,
    hookTimeout: millis,
    expect: { poll: { timeout: 0.75 * millis } },
  })
  fc.configureGlobal({
    ...fc.readConfigureGlobal(),
    interruptAfterTimeLimit: 0.9 * millis,
    markInterruptAsFailure: true,
  })
}

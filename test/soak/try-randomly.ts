import fc from 'fast-check'

/** The first seed, the number of tries, and the end of the time. */
export interface Trial {
  readonly seed: number
  readonly numRuns: number
  readonly until: number
}

/**
 * Tries random values. After a failure, searches for a smaller failing value until the time is over. The error has the
 * smallest one. Waits for a try that is still running then, unless another one has failed before.
 */
export async function tryRandomly<T>(
  values: fc.Arbitrary<T>,
  run: (value: T) => Promise<unknown>,
  { seed, numRuns, until }: Trial,
): Promise<void> {
  let current: Promise<unknown> = Promise.resolve()
  const property = fc.asyncProperty(values, async (value) => {
    current = run(value)
    await current
  })
  const interruptAfterTimeLimit = Math.max(1, until - Date.now())
  const details = await fc.check(property, { seed, numRuns, interruptAfterTimeLimit })
  if (details.counterexample === null) {
    await current
    return
  }
  // The running try may hang, or fail because of the shutdown.
  current.catch(() => {})
  const message = await fc.asyncDefaultReportMessage(details)
  const isCut = details.interrupted ? 'The time was over before the smallest case was found.\n' : ''
  throw new Error(`${isCut}${message}`, { cause: details.errorInstance })
}

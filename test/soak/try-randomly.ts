import fc from 'fast-check'

/** Where random choices begin, how many are tried, and when the time is over. */
export interface Trial {
  readonly seed: number
  readonly numRuns: number
  readonly until: number
}

/**
 * Tries random values. When one fails, the smallest that fails is looked for until the time is over: the error has the
 * smallest one that was found. What is under way at that time without a failure before it is waited for.
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
  // It may hang, or fail because everything ends.
  current.catch(() => {})
  const message = await fc.asyncDefaultReportMessage(details)
  const isCut = details.interrupted ? 'The time was over before the smallest case was found.\n' : ''
  throw new Error(`${isCut}${message}`, { cause: details.errorInstance })
}

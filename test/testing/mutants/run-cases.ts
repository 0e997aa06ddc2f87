import type { Runner } from '../../../src/testing/suites/suite.ts'

/** A runner that only collects cases, so that tests can run some of them and expect a failure. */
export function collect(register: (runner: Runner) => void): ReadonlyMap<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>()
  register({
    describe: (_name, body) => body(),
    test: (title, body) => cases.set(title.slice(0, title.indexOf(' (')), body),
  })
  return cases
}

/** The error message of a failed case; undefined if it passes. */
export async function failureOf(
  cases: ReadonlyMap<string, () => Promise<void>>,
  rule: string,
): Promise<string | undefined> {
  const run = cases.get(rule)
  if (!run) throw new Error(`There is no case ${rule}.`)
  try {
    await run()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

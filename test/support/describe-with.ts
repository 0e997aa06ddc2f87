import { describe, it } from 'vitest'

/**
 * Tests with something that not every machine has, such as a client in Java. Where it is text, it says why it is not there:
 * then the tests are left out aloud.
 */
export function describeWith<Found>(
  title: string,
  found: Found | string,
  tests: (found: Exclude<Found, string>) => void,
): void {
  if (typeof found !== 'string') {
    describe(title, () => tests(found as Exclude<Found, string>))
    return
  }
  console.warn(`${title} is left out: ${found}`)
  it.skip(`${title}, left out: ${found}`)
}

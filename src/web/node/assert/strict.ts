import { isDeepStrictEqual } from '../util.ts'

/* The part of `node:assert/strict` that the suites use. */

class AssertionError extends Error {
  override readonly name = 'AssertionError'
  readonly actual: unknown
  readonly expected: unknown

  constructor(message: string, actual?: unknown, expected?: unknown) {
    super(message)
    this.actual = actual
    this.expected = expected
  }
}

/** The expected error: its class, a predicate, or its message. */
type Expected =
  | (new (
      ...given: never
    ) => unknown)
  | ((error: unknown) => boolean)
  | { readonly message: string }

function check(holds: boolean, message: unknown, what: string, actual?: unknown, expected?: unknown): void {
  if (holds) return
  if (message instanceof Error) throw message
  throw new AssertionError(
    typeof message === 'string' ? message : `${what}: ${shown(actual)}, expected ${shown(expected)}`,
    actual,
    expected,
  )
}

function shown(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}n` : member)) ?? 'nothing'
    )
  } catch {
    return String(value)
  }
}

/** Rethrows an error that is not the expected one. */
function judge(error: unknown, expected: Expected | undefined): void {
  if (expected === undefined) return
  if (typeof expected === 'object') {
    if (!(error instanceof Error) || error.message !== expected.message) throw error
    return
  }
  const isClass = expected.prototype !== undefined
  const holds = isClass ? error instanceof expected : (expected as (error: unknown) => boolean)(error)
  if (!holds) throw error
}

const missing = () => check(false, 'an error was expected, and none came', 'error')

const assert = {
  AssertionError,
  ok: (value: unknown, message?: string | Error) => check(Boolean(value), message, 'not true', value, true),
  equal: (a: unknown, b: unknown, message?: string | Error) =>
    check(Object.is(a, b), message, 'not equal', a, b),
  notEqual: (a: unknown, b: unknown, message?: string | Error) =>
    check(!Object.is(a, b), message, 'equal', a, b),
  deepEqual: (a: unknown, b: unknown, message?: string | Error) =>
    check(isDeepStrictEqual(a, b), message, 'not equal', a, b),
  match: (text: string, pattern: RegExp, message?: string | Error) =>
    check(pattern.test(text), message, 'no match', text, String(pattern)),
  doesNotMatch: (text: string, pattern: RegExp, message?: string | Error) =>
    check(!pattern.test(text), message, 'a match', text, String(pattern)),
  fail: (message: string | Error = 'failed') => check(false, message, 'failed'),
  throws: (work: () => unknown, expected?: Expected) => {
    try {
      work()
    } catch (error) {
      return judge(error, expected)
    }
    missing()
  },
  rejects: async (work: Promise<unknown> | (() => Promise<unknown>), expected?: Expected) => {
    try {
      await (typeof work === 'function' ? work() : work)
    } catch (error) {
      return judge(error, expected)
    }
    missing()
  },
}

export default assert

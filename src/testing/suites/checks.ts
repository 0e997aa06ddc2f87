import assert from 'node:assert/strict'
import type { ErrorCode } from '../../base/errors.ts'
import { nextTurn } from '../../base/time.ts'

/**
 * Asserts that an attempt fails with a given code and a matching message. Compares the `code` and not the class of
 * errors, so that two copies of the package work together.
 */
export async function refused(
  attempt: Promise<unknown> | (() => Promise<unknown>),
  code: ErrorCode | readonly ErrorCode[],
  message = /\S/,
): Promise<Error> {
  const codes = typeof code === 'string' ? [code] : code
  let answer: unknown
  try {
    answer = await (typeof attempt === 'function' ? attempt() : attempt)
  } catch (error) {
    return checked(error, codes, message)
  }
  return assert.fail(`It should have been refused with ${codes.join(' or ')}; it answered ${show(answer)}.`)
}

function checked(error: unknown, codes: readonly ErrorCode[], message: RegExp): Error {
  if (error instanceof assert.AssertionError) throw error
  const { code } = (error ?? {}) as { code?: unknown }
  if (!(error instanceof Error) || !codes.includes(code as ErrorCode)) {
    const got = error instanceof Error ? `${code ?? error.name}: ${error.message}` : String(error)
    assert.fail(`It should have been refused with ${codes.join(' or ')}; it was with ${got}`)
  }
  assert.match(error.message, message)
  return error
}

/** A value as a short text. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/**
 * Calls `look` repeatedly while `work` runs. Waits for the work even when `look` fails, so that it cannot disturb the
 * next case.
 */
export async function during(work: () => Promise<void>, look: () => Promise<void>): Promise<void> {
  let going = true
  const outcome = work()
    .then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    .finally(() => {
      going = false
    })
  try {
    do {
      await look()
      await nextTurn()
    } while (going)
  } finally {
    await outcome
  }
  const failed = await outcome
  if (failed) throw failed.error
}

import { type CatalogError, invalid } from '../errors.ts'

/*
 * Node does not hold the sources of `AbortSignal.any`, and nothing else holds one of `AbortSignal.timeout`. A signal that
 * is collected aborts nothing.
 */

const sourcesOf = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * A signal that aborts with the first of the given signals and with its reason, as `AbortSignal.any` does. It keeps the
 * given signals in memory.
 */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const given = signals.filter((signal) => signal !== undefined)
  const any = AbortSignal.any(given)
  sourcesOf.set(any, given)
  return any
}

/** Whether a value is a signal. One of another realm is no instance of this one's class. */
export function isSignal(value: unknown): value is AbortSignal {
  const { aborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>
  return typeof aborted === 'boolean' && typeof addEventListener === 'function'
}

/** The error for an option `signal` that is no signal. */
export function noSignal(operation: string): CatalogError {
  return invalid(
    `${operation}: the option signal is no AbortSignal. Give controller.signal of an AbortController, or AbortSignal.timeout(1_000).`,
  )
}

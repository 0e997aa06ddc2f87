import { invalid } from '../../base/errors.ts'
import { type OptionNames, requireKnown } from '../../base/model/options.ts'
import { maxIdleSeconds } from '../transactions/transaction-record.ts'

/** Bounds of the transactions that `beginTransaction` began, in this process. Everything has a default. */
export interface OpenTransactionOptions {
  /** Most of them at once. Default: 1,000. */
  readonly count?: number | undefined
  /** Most of one caller at once, where a server knows its callers. Default: 100. */
  readonly perPrincipal?: number | undefined
  /** About the most bytes of changed records, and of records read, that they hold together. Default: 256 MiB. */
  readonly bytes?: number | undefined
  /**
   * About the most such bytes of one caller, where a server knows its callers, so that no caller uses up the bytes of
   * all. Default: a quarter of `bytes`.
   */
  readonly bytesPerPrincipal?: number | undefined
  /** How long one may go without a request, in seconds, unless `beginTransaction` sets another time. Default: 60. */
  readonly idleSeconds?: number | undefined
}

export type SessionLimits = { readonly [Name in keyof OpenTransactionOptions]-?: number }

const names: OptionNames<OpenTransactionOptions> = {
  count: true,
  perPrincipal: true,
  bytes: true,
  bytesPerPrincipal: true,
  idleSeconds: true,
}

export function sessionLimitsOf(given: OpenTransactionOptions = {}): SessionLimits {
  requireKnown('openTransactions', given, names)
  const { count = 1_000, perPrincipal = 100, bytes = 256 * 1024 * 1024, idleSeconds = 60 } = given
  const { bytesPerPrincipal = Math.ceil(bytes / 4) } = given
  for (const [name, value] of Object.entries({ count, perPrincipal, bytes, bytesPerPrincipal })) {
    if (!(Number.isSafeInteger(value) && value >= 0))
      throw invalid(`openTransactions: ${name} must be a whole number from 0; it is ${String(value)}.`)
  }
  if (!(idleSeconds > 0 && idleSeconds <= maxIdleSeconds)) {
    throw invalid(
      `openTransactions: idleSeconds must be more than 0, and at most ${maxIdleSeconds.toLocaleString('en')}; it is ${String(idleSeconds)}.`,
    )
  }
  return { count, perPrincipal, bytes, bytesPerPrincipal, idleSeconds }
}

import { CatalogError } from '../../../base/errors.ts'

/** Why a process of Lance ended. */
export type Cause =
  | { readonly kind: 'time'; readonly millis: number }
  | { readonly kind: 'memory'; readonly bytes: number; readonly limit: number }
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'itself'; readonly how: string }

/** The process of Lance ended while it was asked for something. */
export class ProcessEnded extends Error {
  readonly about: Cause
  /** Whether this request is known to be at fault. Else it may be asked again. */
  readonly isAtFault: boolean

  constructor(about: Cause, isAtFault: boolean) {
    super(`Lance's process ended: ${reasonOf(about)}`)
    this.about = about
    this.isAtFault = isAtFault
  }
}

function reasonOf(about: Cause): string {
  switch (about.kind) {
    case 'time':
      return `one call took more than ${about.millis.toLocaleString('en')} ms, as long as the option lance.callMillis allows`
    case 'memory':
      return `it took ${about.bytes.toLocaleString('en')} bytes of memory, and the option lance.memoryBytes allows ${about.limit.toLocaleString('en')}`
    case 'abandoned':
      return 'a canceled request went on there'
    case 'itself':
      return about.how
  }
}

/** The error of a request that ended a process of Lance. Nothing of it was recorded. */
export function endedError({ about }: ProcessEnded, what: string, isChange: boolean): CatalogError {
  const reason = reasonOf(about)
  const state = isChange ? ' Nothing was changed.' : ''
  if (about.kind === 'time' || about.kind === 'memory') {
    return new CatalogError(
      'InvalidInput',
      `Lance's process was ended at ${what}: ${reason}.${state} Ask for less at a time, or raise the option.`,
    )
  }
  return new CatalogError(
    'Internal',
    `Lance's process ended twice at ${what}: ${reason}.${state} Ask in another way, or install another version of @lancedb/lancedb.`,
  )
}

/** The error of a change that was recorded before the process of Lance ended. Only its counts are lost. */
export function endedAfter({ about }: ProcessEnded, what: string, version: number): CatalogError {
  return new CatalogError(
    'Internal',
    `The change is made: it is version ${version}, after ${what}. But Lance's process ended before it said how many rows changed: ${reasonOf(about)}. Do not send the change again.`,
  )
}

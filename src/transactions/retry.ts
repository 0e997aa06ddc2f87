import { CatalogError } from '../errors.ts'
import { formatIdentifier, type Identifier } from '../model/identifier.ts'
import type { RemovalRecord } from '../store/records.ts'

/**
 * Thrown when another process replaced the table or version that an operation began with. The operation has changed
 * nothing, so it runs again, on what is there now.
 */
export class TargetReplaced extends CatalogError {
  constructor(id: Identifier, options?: { cause?: unknown }) {
    super(
      'ConcurrentModification',
      `${formatIdentifier(id)} was replaced again and again while this operation ran. Try again when fewer changes are going on.`,
      options,
    )
  }
}

/** Thrown when a location still holds content of a dropped table, which is being removed. */
export class LocationBusy extends CatalogError {
  readonly removal: RemovalRecord
  constructor(removal: RemovalRecord) {
    super(
      'ConcurrentModification',
      `The content of a dropped table is still being removed from ${removal.removing}. Try again in a moment.`,
    )
    this.removal = removal
  }
}

/** Whether an error means that the operation should run again. */
export function isRetryable(error: unknown): boolean {
  return error instanceof TargetReplaced || error instanceof LocationBusy
}

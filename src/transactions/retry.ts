import { CatalogError } from '../errors.ts'
import { formatIdentifier, type Identifier } from '../model/identifier.ts'
import type { RemovalRecord } from '../store/records.ts'

/**
 * Thrown when what an operation found at its beginning is not there any more, so that its failure, or what it
 * was about to do, belongs to something else. Nothing was done by then: the operation begins again.
 */
export class Overtaken extends CatalogError {
  constructor(id: Identifier, options?: { cause?: unknown }) {
    super(
      'ConcurrentModification',
      `${formatIdentifier(id)} was replaced by others over and over while it was worked on. Try again when there is less going on.`,
      options,
    )
  }
}

/** Thrown when a location is still being emptied of what a dropped table left there. */
export class StillThere extends CatalogError {
  readonly removal: RemovalRecord
  constructor(removal: RemovalRecord) {
    super(
      'ConcurrentModification',
      `The location ${removal.removing} is still being emptied of a dropped table. Try again in a moment.`,
    )
    this.removal = removal
  }
}

/** Whether an error means that the operation begins again. */
export function isOvertaken(error: unknown): boolean {
  return error instanceof Overtaken || error instanceof StillThere
}

import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import type { RemovalRecord } from '../../base/store/records.ts'

/** An error after which the operation runs again. Callers see the one of the last attempt. */
abstract class RunAgain extends CatalogError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('ConcurrentModification', message, options)
  }

  /** The same error of an item of a batch, with a message that says which one. */
  abstract ofItem(item: string, message: string): RunAgain
}

/**
 * Thrown when another process replaced the table or version that an operation began with. The operation has changed
 * nothing, so it runs again on the current state.
 */
export class TargetReplaced extends RunAgain {
  readonly #id: Identifier

  constructor(id: Identifier, options?: { cause?: unknown }, message = replaced(id)) {
    super(message, options)
    this.#id = id
  }

  override ofItem(_: string, message: string): TargetReplaced {
    return new TargetReplaced(this.#id, { cause: this }, message)
  }
}

/**
 * The option of an operation that runs again after a vacuum began: its work is recorded before it writes anything, so that
 * no vacuum takes it. Otherwise, vacuums in close succession could hold it up again and again.
 */
export const recordedFirst = Symbol('recordedFirst')

/** Thrown when a vacuum began that may have removed what an operation wrote. It is recorded first when it runs again. */
export class VacuumBegan extends TargetReplaced {}

/** Thrown when a location still holds content of a dropped table, which is being removed. */
export class LocationBusy extends RunAgain {
  readonly removal: RemovalRecord
  /** The requested location. That of the dropped table may differ, and may be hidden from the caller. */
  readonly location: string
  /** The item of a batch that wants the location. */
  readonly item: string | undefined

  constructor(removal: RemovalRecord, location: string, item?: string, message = stillRemoved(location)) {
    super(message)
    this.removal = removal
    this.location = location
    this.item = item
  }

  override ofItem(item: string, message: string): LocationBusy {
    return new LocationBusy(this.removal, this.location, item, message)
  }
}

export function isRetryable(error: unknown): error is RunAgain {
  return error instanceof RunAgain
}

function replaced(id: Identifier): string {
  return `${formatIdentifier(id)} was replaced again and again while this operation ran. Try again when fewer changes are going on.`
}

function stillRemoved(location: string): string {
  return `The content of a dropped table is still being removed at ${location}. Try again in a moment.`
}

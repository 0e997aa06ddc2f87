import type { Identifier } from '../../base/model/identifier.ts'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { keys, recordFormat, type TransactionRecord } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import { clearTimeout, setTimeout, type Timer } from '../../base/time.ts'
import type { CommitContext } from './context.ts'
import { VacuumBegan } from './retry.ts'
import { leaseMillis } from './transaction-record.ts'

/** Work that ends within this many milliseconds is recorded by its commit alone. */
const lateMillis = 1_000

/**
 * The option by which an adapter asks that a transaction is recorded by its commit alone, which saves a commit of the
 * store. The commit compares the vacuums that have begun in place of the record, and its function runs again after one.
 */
export const recordedByCommit = Symbol('recordedByCommit')

/**
 * How many vacuums had begun before the work wrote anything; `harmless` for work whose objects no vacuum can take, such
 * as that within a transaction, which protects them.
 */
export type VacuumsBefore = number | 'harmless'

/** The members of the record of running work, besides its status and its lease. */
export type WorkDescription = Omit<
  TransactionRecord,
  'v' | 'status' | 'lease_until' | 'finished_at' | 'failure'
>

/**
 * The record of work under way. It is written at once if a caller may ask for it. Nobody knows of other work before it
 * is done, unless it takes long. So quick work writes no record of its own: its commit does.
 */
export class WorkRecord {
  readonly id: string
  readonly #core: CommitContext
  readonly #description: WorkDescription
  readonly #vacuums: VacuumsBefore | undefined
  readonly #onWritten: () => void
  readonly #onFailed: (error: unknown) => void
  #status: 'Queued' | 'Running'
  #written: Promise<void> | undefined
  #timer: Timer | undefined
  #isCommitting = false
  #isLate = false

  /** Calls `onWritten` once the record that says Queued or Running is written, and `onFailed` when that fails. */
  constructor(
    core: CommitContext,
    id: string,
    description: WorkDescription,
    {
      isQueued,
      vacuums,
      onWritten,
      onFailed,
    }: {
      readonly isQueued: boolean
      /** Undefined for work that is recorded at once. */
      readonly vacuums: VacuumsBefore | undefined
      readonly onWritten: () => void
      readonly onFailed: (error: unknown) => void
    },
  ) {
    this.id = id
    this.#core = core
    this.#description = description
    this.#status = isQueued ? 'Queued' : 'Running'
    this.#vacuums = vacuums
    this.#onWritten = onWritten
    this.#onFailed = onFailed
    if (vacuums === undefined) void this.write()
    else this.#timer = unrefTimer(setTimeout(() => this.#late(), lateMillis))
  }

  /** Resolves when what was written so far is durable. Undefined where nothing was written. */
  get written(): Promise<void> | undefined {
    return this.#written
  }

  /** Writes the record, unless it is written. No await before that: stores keep the order of writes. */
  write(): Promise<void> {
    if (this.#written === undefined) {
      this.end()
      const key = keys.transaction(this.id)
      const record = this.as(this.#status)
      this.#written = this.#core.store.write((writer) => {
        // A commit that was sent before may have written it.
        if (this.#vacuums !== undefined && writer.get(key) !== undefined) return
        this.requireNoVacuum(writer)
        writer.put(key, { ...record, lease_until: this.#core.now() + leaseMillis })
      })
      this.#written.then(this.#onWritten, this.#onFailed)
    }
    return this.#written
  }

  /**
   * Runs a commit that writes the record itself. Until its outcome is known, nothing else writes the record: others may
   * have cleared it already, and finished work would look as if it still ran.
   */
  async whileCommitting<T>(commit: () => Promise<T | undefined>): Promise<T | undefined> {
    this.#isCommitting = true
    let result: T | undefined
    try {
      result = await commit()
    } finally {
      this.#isCommitting = false
    }
    if (result === undefined && this.#isLate) void this.write()
    return result
  }

  #late(): void {
    this.#isLate = true
    if (!this.#isCommitting) void this.write()
  }

  /** Notes that the work has its slot. `update` changes the record, if one is written. */
  begin(update: (change: (current: TransactionRecord) => TransactionRecord) => Promise<void>): void {
    this.#status = 'Running'
    if (this.#written === undefined) return
    this.#written = this.#written.then(() => update((current) => ({ ...current, status: 'Running' })))
    this.#written.catch(this.#onFailed)
  }

  /** The record with a status. */
  as(status: TransactionRecord['status']): TransactionRecord {
    return { v: recordFormat, status, ...this.#description }
  }

  /**
   * Fails if a vacuum has begun since. A vacuum does not know of work without a record, and may have removed what it
   * wrote. The operation then runs again.
   */
  requireNoVacuum(writer: Writer): void {
    if (typeof this.#vacuums !== 'number' || vacuumsBegun(writer) === this.#vacuums) return
    throw new VacuumBegan(this.#description.subject as Identifier)
  }

  /** Stops the timer that would write the record. */
  end(): void {
    clearTimeout(this.#timer)
  }
}

/**
 * How many vacuums have begun. A vacuum may remove objects that were written before it began and that no record names.
 */
export function vacuumsBegun(reader: Reader): number {
  return reader.get<number>(keys.vacuums) ?? 0
}

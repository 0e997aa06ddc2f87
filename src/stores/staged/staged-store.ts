import { CatalogError } from '../../base/errors.ts'
import { nestedError, runBody } from '../../base/store/body.ts'
import type { Key, Reader, Store, StoreFeatures, Value, Writer } from '../../base/store/store.ts'
import { codeOf } from '../memory/code.ts'
import { addTouched, type StagedContext, StagedReader, StagedWriter, type Touched } from './access.ts'
import { Overlay } from './overlay.ts'
import { ReadSet, ReadsChanged, type Soften } from './read-set.ts'

/** How much one transaction may stage until its commit. */
export interface StagedLimits {
  /** Changed records. */
  readonly changes: number
  /** Approximate bytes of changed records. */
  readonly bytes: number
  /** Recorded reads, which the commit repeats. */
  readonly reads: number
}

export interface StagedOptions {
  /** How reads by {@link StagedStore.partialReads} depend on a record. Default: in full. */
  readonly soften?: Soften
  /** A record that may change at any time, such as that of the transaction itself. Its reads are not recorded. */
  readonly unremembered?: Key
  readonly limits?: Partial<StagedLimits>
  /** Throws when the bytes held here, with those of other transactions, are too many. */
  readonly requireRoom?: ((bytes: number) => void) | undefined
}

/** A store with partial reads: they depend on parts of some records only. */
export interface PartialReads {
  readonly store: Store
  /** Makes the commit compare all reads of this store in full. */
  harden(): void
}

/** The approximate bytes of a recorded read. */
const bytesOfRead = 500

const usualLimits: StagedLimits = { changes: 200_000, bytes: 64 * 1024 * 1024, reads: 1_000_000 }

/**
 * A store over a store. It stages writes, shows them to its reads, and records reads of the store below. The commit is
 * one write of the store below: {@link check} compares the reads, and {@link apply} makes the changes.
 *
 * All reads see one snapshot of the store below, except those of {@link untrackedReads}. When something that was read changes
 * there, the next read fails with {@link ReadsChanged}, and so does everything after it.
 */
export class StagedStore implements Store {
  readonly features: StoreFeatures
  readonly #below: Store
  readonly #limits: StagedLimits
  readonly #context: StagedContext
  readonly #requireShare: ((bytes: number) => void) | undefined
  #failure: Error | undefined
  /** The state of the store below at the last comparison of all reads. */
  #comparedAt: number | string | undefined
  /** How often `harden` was called outside of a read. */
  #hardenings = 0
  #busy = false
  /** Settled after the last run of the latest body. */
  #latest: Promise<unknown> = Promise.resolve()
  /** How many bodies run or wait. */
  #waiting = 0

  constructor(
    below: Store,
    { soften = () => undefined, unremembered, limits, requireRoom }: StagedOptions = {},
  ) {
    this.#below = below
    this.#requireShare = requireRoom
    this.features = Object.freeze({ ...below.features, durable: false, snapshots: false })
    this.#limits = { ...usualLimits, ...limits }
    this.#context = {
      overlay: new Overlay(),
      readSet: new ReadSet(soften, this.#limits.reads),
      unremembered: unremembered && codeOf(unremembered),
    }
  }

  /** Why the store refuses every call, if it does. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** About how many bytes the staged changes and recorded reads take. */
  get bytes(): number {
    const { overlay, readSet } = this.#context
    return overlay.bytes + readSet.count * bytesOfRead
  }

  /** Whether nothing was changed. */
  get isUnchanged(): boolean {
    return this.#context.overlay.size === 0
  }

  read<T>(body: (reader: Reader) => T): Promise<T> {
    return this.#read(body, undefined)
  }

  write<T>(body: (writer: Writer) => T): Promise<T> {
    return this.#write(body, undefined)
  }

  /** A view whose reads are not recorded: the commit does not compare them. */
  untrackedReads(): Store {
    return {
      features: this.features,
      read: (body) => this.#read(body, undefined, true),
      write: (body) => this.write(body),
      close: () => this.close(),
    }
  }

  /** A view with partial reads: they depend on records as `soften` returns, until a full read of these records. */
  partialReads(): PartialReads {
    const touched: Touched = new Map()
    return {
      store: {
        features: this.features,
        read: (body) => this.#read(body, touched),
        write: (body) => this.#write(body, touched),
        close: () => this.close(),
      },
      harden: () => {
        this.#hardenings++
        void this.#inOrder(async () => {
          try {
            for (const [group, values] of touched) this.#context.readSet.harden(group, values)
          } catch (error) {
            this.#failure ??= error as Error
          }
          this.#context.readSet.keep()
          this.#comparedAt = undefined
          this.#waiting--
        })
      },
    }
  }

  /** Whether this record was changed here. */
  hasChanged(key: Key): boolean {
    return this.#context.overlay.find(codeOf(key)) !== undefined
  }

  /** Refuses every call from now on. */
  end(failure: Error): void {
    this.#failure ??= failure
  }

  async close(): Promise<void> {
    this.end(new CatalogError('ServiceUnavailable', 'The staged store is closed.'))
  }

  /**
   * Compares all reads, within a transaction of the store below. Throws {@link ReadsChanged} when a part changed that
   * must not. Returns the groups of records where other parts changed: {@link forget} them, and repeat their changes.
   */
  check(reader: Reader): ReadonlySet<string> {
    return this.#context.readSet.check(reader)
  }

  /** Makes all changes, within a write of the store below. `last` may change a value as it is written. */
  apply(writer: Writer, last: (key: Key, value: Value) => Value = (_, value) => value): void {
    for (const [, { key, value }] of this.#context.overlay.all()) {
      if (value === undefined) writer.remove(key)
      else writer.put(key, last(key, value))
    }
  }

  /** Drops the staged changes and the reads of some groups. */
  forget(groups: ReadonlySet<string>): void {
    const { overlay } = this.#context
    for (const [code, { group }] of overlay.all()) {
      if (group !== undefined && groups.has(group)) overlay.remove(code)
    }
    this.#context.readSet.forget(groups)
  }

  #read<T>(body: (reader: Reader) => T, touched: Touched | undefined, isUntracked = false): Promise<T> {
    return this.#runRecording(touched, (below, noted) => {
      const reader = new StagedReader(below, this.#context, noted, isUntracked)
      try {
        const result = runBody(body, reader)
        this.#requireShare?.(this.bytes)
        return result
      } finally {
        reader.ended = true
      }
    })
  }

  #write<T>(body: (writer: Writer) => T, touched: Touched | undefined): Promise<T> {
    return this.#runRecording(touched, (below, noted) => {
      const { overlay } = this.#context
      const writer = new StagedWriter(below, this.#context, noted)
      try {
        const result = runBody(body, writer)
        this.#requireRoom(overlay)
        return result
      } catch (error) {
        overlay.rollBack()
        throw error
      } finally {
        writer.ended = true
      }
    })
  }

  /** Runs a body, and adds what its last run touched to `touched`: earlier runs may have read guessed values. */
  #runRecording<T>(touched: Touched | undefined, body: (below: Reader, noted?: Touched) => T): Promise<T> {
    if (touched === undefined) return this.#enqueue(body)
    let noted: Touched = new Map()
    const done = this.#enqueue((below) => {
      noted = new Map()
      return body(below, noted)
    })
    return done.finally(() => addTouched(touched, noted))
  }

  /** Runs a body on a snapshot of the store below in which all earlier reads give the same results. */
  #enqueue<T>(body: (below: Reader) => T): Promise<T> {
    if (this.#busy) return Promise.reject(nestedError())
    return this.#inOrder(() => this.#runNow(body))
  }

  /**
   * One after the other: what a body did may be rolled back until its last run. At its end, work counts itself out of
   * those that wait.
   */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#waiting++ === 0 ? work() : this.#latest.then(work, work)
    this.#latest = done
    return done
  }

  async #runNow<T>(body: (below: Reader) => T): Promise<T> {
    const { overlay, readSet } = this.#context
    try {
      if (this.#failure) throw this.#failure
      // A failed read was recorded, too.
      this.#requireShare?.(this.bytes)
      const hardenings = this.#hardenings
      // Usually nothing was committed since the last comparison. If something was, the state after the read tells.
      const isCurrent = this.#comparedAt !== undefined
      const before = this.#comparedAt ?? this.#below.state?.()
      let result: T
      try {
        result = await this.#below.read((below) => this.#runOn(below, body, isCurrent))
      } catch (error) {
        // An error depends on the reads as a result does.
        if (isCurrent && this.#below.state!() !== before) await this.#compare()
        throw error
      }
      if (before === undefined) return result
      const hasMoved = this.#below.state!() !== before
      if (hasMoved && isCurrent) await this.#compare()
      this.#comparedAt = hasMoved || hardenings !== this.#hardenings ? undefined : before
      return result
    } catch (error) {
      if (error instanceof ReadsChanged) this.#failure ??= error
      throw error
    } finally {
      // The reads of a failed body count: its error depends on them.
      readSet.keep()
      overlay.keep()
      this.#waiting--
    }
  }

  #runOn<T>(below: Reader, body: (below: Reader) => T, isCurrent: boolean): T {
    const { overlay, readSet } = this.#context
    // The store below may run this again, on another snapshot.
    readSet.rollBack()
    overlay.rollBack()
    this.#busy = true
    try {
      if (!isCurrent) this.check(below)
      return body(below)
    } finally {
      this.#busy = false
    }
  }

  #compare(): Promise<unknown> {
    return this.#below.read((below) => this.check(below))
  }

  #requireRoom({ size, bytes }: Overlay): void {
    const most = this.#limits
    if (size <= most.changes && bytes <= most.bytes) {
      this.#requireShare?.(this.bytes)
      return
    }
    const [is, limit] =
      size > most.changes ? [size, `${text(most.changes)} records`] : [bytes, `${text(most.bytes)} bytes`]
    throw new CatalogError(
      'InvalidInput',
      `The transaction has changed ${text(is)} of at most ${limit}. Do it in parts.`,
    )
  }
}

function text(count: number): string {
  return count.toLocaleString('en')
}

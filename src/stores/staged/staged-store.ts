import { CatalogError } from '../../base/errors.ts'
import { nestedError, runBody } from '../../base/store/body.ts'
import type { Key, Reader, Store, StoreFeatures, Writer } from '../../base/store/store.ts'
import { codeOf } from '../memory/code.ts'
import { addTouched, type StagedContext, StagedReader, StagedWriter, type Touched } from './access.ts'
import { Overlay } from './overlay.ts'
import { ReadSet, ReadsChanged, type Soften } from './seen.ts'

/** How much one transaction may hold back until its commit. */
export interface StagedLimits {
  /** Changed records. */
  readonly changes: number
  /** Bytes of changed records, about. */
  readonly bytes: number
  /** Records that were read, which the commit reads again. */
  readonly reads: number
}

export interface StagedOptions {
  /** How reads by {@link StagedStore.softly} depend on a record. Default: in full. */
  readonly soften?: Soften
  /** A record that may change at any time, such as that of the transaction itself: reading it is not remembered. */
  readonly unremembered?: Key
  readonly limits?: Partial<StagedLimits>
  /** Throws when the bytes that are held here are too many together with those of others. */
  readonly requireRoom?: ((bytes: number) => void) | undefined
}

/** A store whose reads of some records depend on parts of them only. */
export interface SoftStore {
  readonly store: Store
  /** Makes everything that was read here matter in full. */
  harden(): void
}

/** About what a remembered read takes. */
const bytesOfRead = 500

const usualLimits: StagedLimits = { changes: 200_000, bytes: 64 * 1024 * 1024, reads: 1_000_000 }

/**
 * A store over a store. Writes stay here, reads see them, and what was read below is remembered. The commit is one
 * write of the store below: {@link check} compares what was read, and {@link apply} makes the changes.
 *
 * All reads together see one moment of the store below, but for those of {@link loosely}. When what was read changes
 * there, the next read fails with {@link ReadsChanged}, and so does everything after it.
 */
export class StagedStore implements Store {
  readonly features: StoreFeatures
  readonly #below: Store
  readonly #limits: StagedLimits
  readonly #context: StagedContext
  readonly #requireShare: ((bytes: number) => void) | undefined
  #failure: Error | undefined
  /** The state of the store below at which everything that was read was compared last. */
  #comparedAt: number | string | undefined
  /** Counts what was made to matter in full outside of a read. */
  #hardenings = 0
  #busy = false
  /** Settled when the body before has run for the last time. */
  #latest: Promise<unknown> = Promise.resolve()

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

  /** Why the store refuses everything, if it does. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** About how many bytes changes and remembered reads take. */
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

  /** A view whose reads may change at any time: the commit does not compare them. */
  loosely(): Store {
    return {
      features: this.features,
      read: (body) => this.#read(body, undefined, true),
      write: (body) => this.write(body),
      close: () => this.close(),
    }
  }

  /** A view in which reads depend on records as `soften` says, as long as nothing else reads them. */
  softly(): SoftStore {
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
        this.#latest = this.#latest.then(() => {
          try {
            for (const [group, values] of touched) this.#context.readSet.harden(group, values)
          } catch (error) {
            this.#failure ??= error as Error
          }
          this.#context.readSet.keep()
          this.#comparedAt = undefined
        })
      },
    }
  }

  /** Whether this record was changed here. */
  hasChanged(key: Key): boolean {
    return this.#context.overlay.find(codeOf(key)) !== undefined
  }

  /** Refuses everything from now on. */
  end(failure: Error): void {
    this.#failure ??= failure
  }

  async close(): Promise<void> {
    this.end(new CatalogError('ServiceUnavailable', 'The staged store is closed.'))
  }

  /**
   * Compares what was read, within a transaction of the store below. Throws {@link ReadsChanged} when a part changed
   * that must stay. Returns the groups of records of which other parts changed: {@link forget} them, and make
   * their changes anew.
   */
  check(reader: Reader): ReadonlySet<string> {
    return this.#context.readSet.check(reader)
  }

  /** Makes all changes, within a write of the store below. */
  apply(writer: Writer): void {
    for (const [, { key, value }] of this.#context.overlay.map().entries()) {
      if (value === undefined) writer.remove(key)
      else writer.put(key, value)
    }
  }

  /** Takes the changes of some groups back, and forgets what was read for them. */
  forget(groups: ReadonlySet<string>): void {
    const { overlay } = this.#context
    for (const [code, { group }] of overlay.map().entries()) {
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

  /** Runs a body, and adds what its last run touched to `softly`: earlier runs may have been about guesses. */
  #runRecording<T>(
    touched: Touched | undefined,
    body: (below: Reader, noted: Touched | undefined) => T,
  ): Promise<T> {
    if (touched === undefined) return this.#enqueue((below) => body(below, undefined))
    let noted: Touched = new Map()
    const done = this.#enqueue((below) => {
      noted = new Map()
      return body(below, noted)
    })
    return done.finally(() => addTouched(touched, noted))
  }

  /** Runs a body on one moment of the store below, at which everything reads as it was read before. */
  #enqueue<T>(body: (below: Reader) => T): Promise<T> {
    if (this.#busy) return Promise.reject(nestedError())
    // One after the other: until a body is known to have run for the last time, what it did may be taken back.
    const done = this.#latest.then(() => this.#runNow(body))
    this.#latest = done.catch(() => {})
    return done
  }

  async #runNow<T>(body: (below: Reader) => T): Promise<T> {
    if (this.#failure) throw this.#failure
    // A read that failed was remembered, too.
    this.#requireShare?.(this.bytes)
    const { overlay, readSet } = this.#context
    const hardenings = this.#hardenings
    const before = this.#below.state?.()
    const isCurrent = before !== undefined && before === this.#comparedAt
    const compareMoved = async () => {
      const hasMoved = this.#below.state!() !== before
      // Somebody committed between the look at the state and the read.
      if (isCurrent && hasMoved) await this.#below.read((below) => this.check(below))
      return hasMoved
    }
    const inside = () =>
      this.#below.read((below) => {
        // The store below may run this again, with other records.
        readSet.rollBack()
        overlay.rollBack()
        this.#busy = true
        try {
          if (!isCurrent) this.check(below)
          return body(below)
        } finally {
          this.#busy = false
        }
      })
    try {
      const result = await inside().catch(async (error) => {
        // An error tells of what was read as much as a result does.
        if (isCurrent) await compareMoved()
        throw error
      })
      if (before === undefined) return result
      const hasMoved = await compareMoved()
      this.#comparedAt = hasMoved || hardenings !== this.#hardenings ? undefined : before
      return result
    } catch (error) {
      if (error instanceof ReadsChanged) this.#failure ??= error
      throw error
    } finally {
      // What a body read counts even if it failed: the error follows from it.
      readSet.keep()
      overlay.keep()
    }
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

import type { Key as LmdbKey } from 'lmdb'
import { endedError } from '../body.ts'
import { checkedKey } from '../key.ts'
import { type Cut, type Span, spanOf } from '../range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../store.ts'
import { encodeValue } from './encode-value.ts'
import type { Database } from './environment.ts'
import { explain } from './failure.ts'
import { withPrefix } from './read-key.ts'

/** A range is fetched in pieces of so many entries at most. */
const largestPiece = 1024

/** Sorts after every part a key can hold, since no UTF-8 text contains this byte. */
const beyond = Uint8Array.of(0xff)

/** Reads in LMDB's current transaction, until it is ended. */
export class LmdbReader implements Reader {
  readonly db: Database
  readonly path: string
  ended = false

  constructor(db: Database, path: string) {
    this.db = db
    this.path = path
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    const checked = checkedKey(key)
    try {
      return this.db.get(checked as LmdbKey) as V | undefined
    } catch (error) {
      throw explain(error, this.path)
    }
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    return span ? { [Symbol.iterator]: () => this.#walk<V>(span, range.keysOnly ?? false) } : []
  }

  /** No cursor stays open between two pieces, so a walk may be left anywhere and may change what it walks. */
  *#walk<V extends Value>(span: Span, keysOnly: boolean): Generator<Entry<V>, void, undefined> {
    let { lower, upper, limit } = span
    for (let piece = 0; limit > 0; piece++) {
      const size = Math.min(limit, pieceSize(piece, span.limit))
      const entries = this.#fetch<V>({ ...span, lower, upper, limit: size }, keysOnly)
      for (const entry of entries) {
        yield entry
        if (this.ended) throw endedError()
      }
      if (entries.length < size) return
      limit -= size
      const { key } = entries[size - 1]!
      if (span.reverse) upper = { key, side: 'before' }
      else lower = { key, side: 'after' }
    }
  }

  #fetch<V extends Value>({ lower, upper, reverse, limit, prefix }: Span, keysOnly: boolean): Entry<V>[] {
    if (this.ended) throw endedError()
    // What LMDB calls the start is where it begins to walk. A cut is encoded to what lies right at it, so
    // that the lower one belongs to the range and the upper one does not.
    const from = lower && encodable(lower)
    const to = upper && encodable(upper)
    const options = reverse
      ? { reverse, limit, exclusiveStart: true, inclusiveEnd: true, ...optional(to, from) }
      : { limit, ...optional(from, to) }
    const entries: Entry<V>[] = []
    try {
      withPrefix(this.db, prefix, () => {
        if (keysOnly) {
          walkOff(this.db.getKeys(options), (key) => entries.push({ key: keyOf(key), value: none as V }))
        } else {
          walkOff(this.db.getRange(options), ({ key, value }) =>
            entries.push({ key: keyOf(key), value: value as V }),
          )
        }
      })
    } catch (error) {
      throw explain(error, this.path)
    }
    return entries
  }
}

/** Reads and changes in LMDB's current write transaction, until it is ended. */
export class LmdbWriter extends LmdbReader implements Writer {
  /** Why a change failed. What LMDB holds in memory is of no use after that. */
  failure: Error | undefined
  changed = false

  put(key: Key, value: Value): void {
    if (this.ended) throw endedError()
    const checked = checkedKey(key)
    if (this.failure) throw this.failure
    this.changed = true
    try {
      this.db.put(checked as LmdbKey, encodeValue(checked, value))
    } catch (error) {
      throw this.#failed(error)
    }
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    const checked = checkedKey(key)
    if (this.failure) throw this.failure
    this.changed = true
    try {
      this.db.remove(checked as LmdbKey)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #failed(error: unknown): Error {
    this.failure = explain(error, this.path)
    return this.failure
  }
}

/**
 * Walks to the end. A step that fails, since a value is damaged, ends the walk too: else the driver would keep its
 * snapshot, and a reader's place in the lock file, for ever.
 */
function walkOff<T>(range: Iterable<T>, take: (item: T) => void): void {
  const steps = range[Symbol.iterator]()
  try {
    for (let step = steps.next(); !step.done; step = steps.next()) take(step.value)
  } catch (error) {
    steps.return?.()
    throw error
  }
}

/** The driver gives a key of one part as that part. */
function keyOf(key: LmdbKey): Key {
  return (Array.isArray(key) ? key : [key]) as Key
}

/** Stands for the value where only keys are looked at: without values, LMDB walks twice as fast. */
const none: Value = ''

/** How many entries to fetch next: all that were asked for or, when no limit tells, first few and then more. */
function pieceSize(piece: number, limit: number): number {
  return Math.min(largestPiece, Number.isFinite(limit) ? limit : 16 * 8 ** piece)
}

/** A key such that a cut lies right before it. Null encodes to less than every part a key can hold. */
function encodable(cut: Cut): LmdbKey {
  if (cut.side === 'before') return cut.key as LmdbKey
  return [...cut.key, cut.side === 'after' ? null : beyond] as LmdbKey
}

function optional(start: LmdbKey | undefined, end: LmdbKey | undefined): object {
  return { ...(start && { start }), ...(end && { end }) }
}

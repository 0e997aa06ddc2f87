import type { Key as LmdbKey } from 'lmdb'
import { lastNumber, numbered } from '../../base/store/append.ts'
import { endedError } from '../../base/store/body.ts'
import { checkedKey, compareKeys } from '../../base/store/key.ts'
import { type Cut, type Span, spanOf } from '../../base/store/range.ts'
import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../../base/store/store.ts'
import type { DiskSpace } from './disk-space.ts'
import type { Database } from './driver.ts'
import { encodeAsJson, encodeValue, ofCompactFormat } from './encode-value.ts'
import { explain } from './failure.ts'
import { withPrefix } from './read-key.ts'

/** A range is fetched in batches of at most this many entries. */
const maxBatch = 1024

/** Sorts after every part of a key, since UTF-8 text never contains this byte. */
const beyond = Uint8Array.of(0xff)

/** Reads in LMDB's current transaction, until `ended` is set. */
export class LmdbReader implements Reader {
  readonly db: Database
  readonly path: string
  ended = false
  /** Whether a read failed, after which LMDB's transaction may be unusable. */
  failed = false

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
      this.failed = true
      throw explain(error, this.path)
    }
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    return span ? { [Symbol.iterator]: () => this.#walk<V>(span, range.keysOnly ?? false) } : []
  }

  /** No cursor stays open between two batches. So a caller may stop anywhere, and may change the walked entries. */
  *#walk<V extends Value>(span: Span, keysOnly: boolean): Generator<Entry<V>, void, undefined> {
    let { lower, upper, limit } = span
    for (let batch = 0; limit > 0; batch++) {
      const size = Math.min(limit, batchSize(batch, span.limit))
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
    // LMDB's start is where its walk begins, in either direction. Each cut is encoded as the first possible key after
    // it, so the lower bound is inclusive and the upper bound is exclusive.
    const from = lower && encodable(lower)
    const to = upper && encodable(upper)
    const options = reverse
      ? { reverse, limit, exclusiveStart: true, inclusiveEnd: true, ...optional(to, from) }
      : { limit, ...optional(from, to) }
    const entries: Entry<V>[] = []
    try {
      withPrefix(this.db, prefix, () => {
        if (keysOnly) {
          drain(this.db.getKeys(options), (key) => entries.push({ key: keyOf(key), value: noValue as V }))
        } else {
          drain(this.db.getRange(options), ({ key, value }) =>
            entries.push({ key: keyOf(key), value: value as V }),
          )
        }
      })
    } catch (error) {
      this.failed = true
      throw explain(error, this.path)
    }
    return entries
  }
}

/** Reads and writes in LMDB's current write transaction, until `ended` is set. */
export class LmdbWriter extends LmdbReader implements Writer {
  /** The first failure of a change. After it, LMDB's transaction is unusable. */
  failure: Error | undefined
  changed = false
  readonly #space: DiskSpace
  readonly #lastNumbers: LastNumbers
  #removes = false

  constructor(db: Database, path: string, space: DiskSpace, lastNumbers: LastNumbers) {
    super(db, path)
    this.#space = space
    this.#lastNumbers = lastNumbers
  }

  put(key: Key, value: Value): void {
    if (this.ended) throw endedError()
    const checked = checkedKey(key)
    this.#lastNumbers.forget(checked)
    this.#put(checked, value)
  }

  /** Only the first append of a transaction reads the last number: the others follow it. */
  append(prefix: Key, value: Value): void {
    if (this.ended) throw endedError()
    const checked = checkedKey(prefix)
    const number = this.#lastNumbers.last(this, checked) + 1
    this.#put(checkedKey([...checked, numbered(number)]), value)
    this.#lastNumbers.set(checked, number)
  }

  #put(checked: Key, value: Value): void {
    if (this.failure) throw this.failure
    this.changed = true
    try {
      const encoded = encodeValue(checked, value)
      this.#space.add(encoded.bytes, this.#removes)
      // Within a transaction the driver writes at once, and the transaction's own promise reports a failure.
      void this.db.put(checked as LmdbKey, encoded)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    const checked = checkedKey(key)
    this.#lastNumbers.forget(checked)
    if (this.failure) throw this.failure
    this.changed = true
    this.#removes = true
    try {
      void this.db.remove(checked as LmdbKey)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #failed(error: unknown): Error {
    this.failure = explain(error, this.path)
    return this.failure
  }
}

interface Numbered {
  readonly prefix: Key
  readonly last: number
}

/** The last numbers of appended values, as far as the bodies of one transaction know them. */
export class LastNumbers {
  /** By the first part of the prefix. */
  readonly #known = new Map<Key[0], Numbered>()
  /** The same, from earlier transactions: guesses. */
  readonly #likely = new Map<Key[0], Numbered>()

  /** The last number under a prefix. */
  last(reader: Reader, prefix: Key): number {
    const known = this.#known.get(prefix[0]!)
    if (known !== undefined && compareKeys(known.prefix, prefix) === 0) return known.last
    const likely = this.#likely.get(prefix[0]!)
    const isLikely = likely !== undefined && compareKeys(likely.prefix, prefix) === 0
    return lastNumber(reader, prefix, isLikely ? likely.last : 0)
  }

  set(prefix: Key, last: number): void {
    const numbered = { prefix, last }
    this.#known.set(prefix[0]!, numbered)
    this.#likely.set(prefix[0]!, numbered)
  }

  /** Call it where a transaction begins, and where one is undone. */
  forgetAll(): void {
    this.#known.clear()
  }

  /** Call it before a key is put or removed, which may be the last one of a prefix. */
  forget(key: Key): void {
    if (this.#known.size > 0) this.#known.delete(key[0]!)
  }
}

/**
 * Walks a range to its end. Also closes the range when a step fails, as for a damaged value. Otherwise the driver would
 * never release its snapshot and its reader slot in the lock file.
 */
function drain<T>(range: Iterable<T>, take: (item: T) => void): void {
  const steps = range[Symbol.iterator]()
  try {
    for (let step = steps.next(); !step.done; step = steps.next()) take(step.value)
  } catch (error) {
    steps.return?.()
    throw error
  }
}

/** The driver returns a key of one part as the part itself. */
function keyOf(key: LmdbKey): Key {
  return (Array.isArray(key) ? key : [key]) as Key
}

/** The value in entries where only keys are needed: without values, LMDB walks twice as fast. */
const noValue: Value = ''

/** The size of the next batch: the limit or, without a limit, few entries at first and then more. */
function batchSize(batch: number, limit: number): number {
  return Math.min(maxBatch, Number.isFinite(limit) ? limit : 16 * 8 ** batch)
}

/** The first possible key after a cut. Null sorts before every part of a key. */
function encodable(cut: Cut): LmdbKey {
  if (cut.side === 'before') return cut.key as LmdbKey
  return [...cut.key, cut.side === 'after' ? null : beyond] as LmdbKey
}

function optional(start: LmdbKey | undefined, end: LmdbKey | undefined): object {
  return { ...(start && { start }), ...(end && { end }) }
}

/** The key of the state. It is a symbol, which no catalog uses as a key, and which ranges skip. */
export const stateKey = Symbol.for('state') as LmdbKey

/** The same for its checksum, as JSON.stringify writes a symbol in a list. */
const stateKeyInJson = [null] as unknown as Key

/**
 * The id of the last transaction that changed a record, by any process; undefined in a file without such a
 * transaction. The id is itself a record, so a reader gets the id of its own snapshot. LMDB's own number of the last
 * transaction is ahead of what readers see, until the last sync of that transaction is done.
 */
export function readState(db: Database): number | undefined {
  db.resetReadTxn()
  return db.get(stateKey) as number | undefined
}

/**
 * Sets the state within a transaction with changes, and returns it. Transactions that share a commit set it only once:
 * `marked` is the last one that was set.
 */
export function markState(db: Database, marked: number | undefined): number {
  const id = db.getWriteTxnId()
  // The transaction's own promise reports a failure.
  if (id !== marked) void db.put(stateKey, encodeAsJson(stateKeyInJson, id))
  return id
}

/**
 * Raises the format of a catalog that an earlier release made, within a transaction with changes. That release then
 * refuses the catalog: it cannot read what this one writes.
 */
export function raiseFormat(db: Database): void {
  const record = db.get(keys.catalog as LmdbKey) as CatalogRecord | undefined
  if (record !== undefined && ofCompactFormat(record) !== record)
    void db.put(keys.catalog as LmdbKey, encodeValue(keys.catalog, record))
}

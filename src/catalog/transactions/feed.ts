import { createHash } from 'node:crypto'
import { CatalogError, invalid } from '../../base/errors.ts'
import type { SubjectChange } from '../../base/model/subject-change.ts'
import { numbered } from '../../base/store/append.ts'
import { type CatalogRecord, compactFormat, type FeedRecord, keys } from '../../base/store/records.ts'
import type { Reader, Store, Writer } from '../../base/store/store.ts'
import { clearInterval, setInterval, type Timer } from '../../base/time.ts'
import { requireFormat } from '../lookup/catalog-format.ts'
import { type StoredEntry, wholeEntry } from './recorded-changes.ts'

/** A complete entry of the feed, and the position after it. */
export interface FeedEntry {
  readonly position: Position
  readonly record: FeedRecord
  readonly changes: readonly SubjectChange[]
}

/** Bounds of one read: the most entries, and the number of changes after which no further entry is read. */
const maxEntries = 64
const maxChanges = 1_000

/** How often a process checks for commits of others, in milliseconds: by the state of the store, or else by a read. */
const pollMillis = 200
const readMillis = 500

/**
 * The feed of changes: an entry for each commit, in commit order. Numbers have no gaps, and an entry gets its number in
 * the transaction that makes it visible. So a reader that has read up to a number has missed nothing, whatever other
 * writers do.
 */
export class Feed {
  /** A guess at the number of the last entry. */
  likelyLast = 0
  /** How many watch it. */
  watchers = 0
  readonly #store: Store
  readonly #catalog: CatalogRecord
  /** Whether the format says that entries name transactions, as far as this process knows. */
  #isRaised: boolean
  readonly #waiting = new Set<() => void>()
  /** Counts wake-ups, so that a wake-up between a read and the wait after it is not lost. */
  #wakes = 0
  #timer: Timer | undefined
  #isPolling = false
  #state: unknown
  #last: string | undefined
  readonly #closing = new AbortController()

  constructor(store: Store, catalog: CatalogRecord) {
    this.#store = store
    this.#catalog = catalog
    this.#isRaised = catalog.v >= compactFormat
  }

  /** Aborted when the catalog closes. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  tokenOf(position: Position): string {
    return tokenOf(this.#catalog.id, position)
  }

  positionOf(token: unknown): Position {
    return positionOf(this.#catalog.id, token)
  }

  /** Raises the format of a catalog of an earlier release, which would not know what an entry says. */
  raiseFormat(writer: Writer): void {
    // A change that raises it may still fail, so only a later one knows.
    this.#isRaised ||= requireFormat(writer, compactFormat)
  }

  /** The position after the last entry. */
  end(): Promise<Position> {
    return this.#store.read(lastPosition)
  }

  /**
   * The next entries after a position. Fails with `TransactionNotFound` when the position no longer exists: what
   * followed it is unknown then.
   */
  after(position: Position): Promise<FeedEntry[]> {
    return this.#store.read((reader) => entriesAfter(reader, position))
  }

  /** Makes watchers read again. Called after every commit of this process, where anyone watches. */
  wake(): void {
    this.#wakes++
    for (const wake of this.#waiting) wake()
  }

  /** The argument for {@link changed}. Take it before a read. */
  get mark(): number {
    return this.#wakes
  }

  /**
   * Waits until there may be entries newer than `mark`. Resolves at once when the signal aborts or the catalog closes.
   */
  changed(mark: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done, { once: true })
      if (mark !== this.#wakes || signal.aborted || this.#closing.signal.aborted) done()
    })
  }

  /** Starts to poll for commits of other processes, for a watcher. The returned function stops that. */
  watched(): () => void {
    this.watchers++
    const period = this.#store.state === undefined ? readMillis : pollMillis
    if (this.#store.features.multiProcess) this.#timer ??= setInterval(() => void this.#poll(), period)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (--this.watchers > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** Ends all watches. */
  close(): void {
    this.#closing.abort()
    clearInterval(this.#timer)
    for (const wake of this.#waiting) wake()
  }

  /** One poll serves all watchers of the process. */
  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    try {
      const state = this.#store.state?.()
      if (state !== undefined && state === this.#state) return
      this.#state = state
      const { number, transaction } = await this.end()
      const last = `${number} ${transaction}`
      if (last === this.#last) return
      this.#last = last
      this.wake()
    } catch {
      // Woken watchers read, and get the error.
      this.wake()
    } finally {
      this.#isPolling = false
    }
  }
}

function lastPosition(reader: Reader): Position {
  for (const { key, value } of reader.range<StoredEntry>({ prefix: keys.feed, reverse: true, limit: 1 }))
    return { number: Number(key[1]), transaction: transactionOf(value) }
  return beginning
}

function entriesAfter(reader: Reader, after: Position): FeedEntry[] {
  const entries: FeedEntry[] = []
  // The entry at the position itself comes first. It shows that the feed still is the same.
  const start = [...keys.feed, numbered(after.number)]
  let expected = after.number === 0 ? 1 : after.number
  let changed = 0
  for (const { key, value } of reader.range<StoredEntry>({
    prefix: keys.feed,
    start,
    limit: maxEntries + 1,
  })) {
    const number = Number(key[1])
    if (number !== expected) throw positionGone()
    if (number === after.number) {
      if (transactionOf(value) !== after.transaction) throw positionGone()
    } else {
      const record = wholeEntry(reader, value)
      if (record === undefined) throw positionGone()
      const { transaction, changes } = record
      entries.push({ position: { number, transaction }, record, changes })
      changed += changes.length
      if (changed > maxChanges) break
    }
    expected = number + 1
  }
  if (after.number > 0 && expected === after.number) throw positionGone()
  return entries
}

function transactionOf(entry: StoredEntry): string {
  return typeof entry === 'string' ? entry : entry.transaction
}

/** A position in the feed: after the entry `number`, which belongs to `transaction`. Number 0 is before all entries. */
export interface Position {
  readonly number: number
  readonly transaction: string
}

const beginning: Position = { number: 0, transaction: '' }

const longestToken = 512

/** Encodes a position as a token, which is valid for this catalog only. */
function tokenOf(catalog: string, { number, transaction }: Position): string {
  return inUrl(Buffer.from(JSON.stringify([markOf(catalog), number, transaction])).toString('base64'))
}

/** Decodes a token. Fails with `InvalidInput` for a malformed token, and for one of another catalog. */
function positionOf(catalog: string, token: unknown): Position {
  const [mark, number, transaction] = partsOf(token)
  if (mark !== markOf(catalog)) {
    throw invalid(
      'The token since is of another catalog. Give a token that this catalog gave, or leave since out to begin now.',
    )
  }
  return { number, transaction }
}

/** A hash of the catalog's id. The id is public, but a token need not reveal it. */
function markOf(catalog: string): string {
  return inUrl(createHash('sha256').update(catalog).digest('base64')).slice(0, 8)
}

function partsOf(token: unknown): [mark: string, number: number, transaction: string] {
  if (typeof token === 'string' && token.length > 0 && token.length <= longestToken) {
    try {
      const parts: unknown = JSON.parse(Buffer.from(fromUrl(token), 'base64').toString())
      if (Array.isArray(parts) && parts.length === 3) {
        const [mark, number, transaction] = parts as unknown[]
        const isNumber = Number.isSafeInteger(number) && (number as number) >= 0
        if (typeof mark === 'string' && isNumber && typeof transaction === 'string')
          return [mark, number as number, transaction]
      }
    } catch {
      // Not JSON, so not a token.
    }
  }
  throw invalid('since is no token of the change feed. Pass back the token of a change as it came.')
}

/** The error for a feed position that does not exist, or no longer exists. */
function positionGone(): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    'The changes since this token are not all there any more: they are too old, or the catalog was put back to an earlier state. Watch from now on, list what there is, and go on from there.',
  )
}

/** Base64 for URLs. Buffers in browsers do not support `base64url`. */
function inUrl(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromUrl(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/')
}

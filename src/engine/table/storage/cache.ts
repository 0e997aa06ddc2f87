interface Entry {
  readonly value: unknown
  /** What `value` resolved to, if it is the promise of a read. */
  loaded?: unknown
  bytes: number
  /** Whether it was used since it came, or since it was spared from eviction. */
  isUsed: boolean
}

/** Most made values that are kept. */
const maxMade = 1_024
/** Part of the limit that one of them may take. */
const shareOfMade = 1 / 16

/**
 * A cache of values that were read, up to a number of bytes. All values are immutable, so no value is ever stale.
 * Concurrent requests for a key share one read. A failed read is not cached, so the next request tries again.
 *
 * Evicts the oldest value first, but spares it once if it was used (the clock algorithm). Then a use only sets a flag.
 * Moving its entry to the end of the map takes ten times as long.
 */
export class ByteCache {
  #limit: number
  readonly #entries = new Map<string, Entry>()
  /** Those of the entries that are evicted before others. */
  readonly #spare = new Set<string>()
  /** Keys of the made values. */
  readonly #made = new Set<string>()
  readonly #demand = new Demand()
  readonly #demandOfIndexes = new Demand()
  readonly #demandOfMade = new Demand()
  #bytes = 0
  #hits = 0
  #misses = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The value under `key`, loaded if it is absent. `size` returns the bytes of a loaded value. */
  get<T>(key: string, size: (value: T) => number, load: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key)
    if (known) {
      known.isUsed = true
      this.#hits++
      return known.value as Promise<T>
    }
    this.#misses++
    const value = load()
    const entry: Entry = { value, bytes: 0, isUsed: false }
    this.#entries.set(key, entry)
    value.then(
      (loaded) => {
        entry.loaded = loaded
        this.#account(key, entry, size(loaded))
      },
      () => this.#forget(key, entry),
    )
    return value
  }

  /** A value that was read before and is still kept. The caller need not wait for it; otherwise it reads by `get`. */
  loaded<T>(key: string): T | undefined {
    const known = this.#entries.get(key)
    if (known?.loaded === undefined) return undefined
    known.isUsed = true
    this.#hits++
    return known.loaded as T
  }

  /** A value that was made and is still kept. It counts as no request. */
  made<T>(key: string): T | undefined {
    const known = this.#entries.get(key)
    if (known === undefined) return undefined
    known.isUsed = true
    return known.value as T
  }

  /** Keeps a value that was made of others, among the values that were read. */
  keepMade(key: string, value: unknown, bytes: number): void {
    if (bytes > this.#limit * shareOfMade || this.#entries.has(key)) return
    const entry: Entry = { value, bytes: 0, isUsed: false }
    this.#entries.set(key, entry)
    this.#made.add(key)
    this.#account(key, entry, bytes)
    for (const oldest of this.#made) {
      if (this.#made.size <= maxMade) break
      if (!this.#isSpared(oldest)) this.#forget(oldest, this.#entries.get(oldest)!)
    }
  }

  /** Whether the value of `key` is cached, or is being loaded. */
  has(key: string): boolean {
    return this.#entries.has(key)
  }

  /** Evicts the value of a key before others, however often it is used: another one that is kept serves most requests. */
  giveWay(key: string): void {
    if (this.#entries.has(key)) this.#spare.add(key)
  }

  /**
   * Whether to load a value of `size` bytes of which only parts are needed now. Loading the parts costs as much as
   * `cost` bytes. True once parts have cost as much as the whole, if all requested values have room.
   */
  shouldLoad(key: string, size: number, cost: number): boolean {
    return this.#demand.add(key, size, cost, this.#limit) && this.#demand.hasRoom(this.#limit)
  }

  /**
   * As `shouldLoad`, for an index. Only all requested indexes must have room: a look-up needs those of all fragments, and
   * then columns of few. If an index is evicted, its parts must cost as much again.
   */
  shouldLoadIndex(key: string, size: number, cost: number): boolean {
    const demand = this.#demandOfIndexes
    return demand.add(key, size, cost, this.#limit) && demand.hasRoom(this.#limit) && demand.reset(key)
  }

  /**
   * Whether to make a value of `size` bytes that would have saved `cost` now. True once it would have saved as much as its
   * size. The caller knows whether it has room beside others that are needed together.
   */
  shouldMake(key: string, size: number, cost: number): boolean {
    return this.#demandOfMade.add(key, size, cost, this.#limit) && this.#demandOfMade.reset(key)
  }

  /** Most bytes kept. */
  get limit(): number {
    return this.#limit
  }

  set limit(limit: number) {
    this.#limit = limit
    this.#shrink()
  }

  /** Bytes kept at the moment. */
  get bytes(): number {
    return this.#bytes
  }

  /** How often a requested value was cached, or was being read. */
  get hits(): number {
    return this.#hits
  }

  /** How often a value had to be read. */
  get misses(): number {
    return this.#misses
  }

  #account(key: string, entry: Entry, bytes: number): void {
    if (this.#entries.get(key) !== entry) return
    entry.bytes = bytes
    this.#bytes += bytes
    this.#shrink()
  }

  #shrink(): void {
    for (const keys of [this.#spare, this.#entries.keys()]) {
      for (const oldest of keys) {
        if (this.#bytes <= this.#limit) return
        const entry = this.#entries.get(oldest)!
        // A value that is being read has no size yet, and callers share it.
        if (entry.bytes > 0 && !this.#isSpared(oldest)) this.#forget(oldest, entry)
      }
    }
  }

  /** Spares the value of a key if it was used: it comes last now, and a walk meets it again there. */
  #isSpared(key: string): boolean {
    const entry = this.#entries.get(key)!
    if (!entry.isUsed) return false
    entry.isUsed = false
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (this.#spare.delete(key)) this.#spare.add(key)
    if (this.#made.delete(key)) this.#made.add(key)
    return true
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#spare.delete(key)
    this.#made.delete(key)
    this.#bytes -= entry.bytes
  }
}

/** Most keys that are remembered. */
const maxKeys = 10_000
/** Most bytes of their values, as a multiple of the cache's limit. */
const rememberedFactor = 4

interface PartialReads {
  readonly size: number
  readonly spent: number
}

/**
 * Remembers the cost of reading parts of values that are not cached. Reading parts repeatedly costs more than caching
 * the value, but caching a value that the next one evicts is useless, and future requests are not known. If a value is
 * cached once its parts have cost as much as the whole, the total is at most twice the least possible cost.
 */
class Demand {
  /** In order of the last request. */
  readonly #partialReads = new Map<string, PartialReads>()
  #bytes = 0

  /** Records that parts are needed. Returns whether they cost more than the whole value by now. */
  add(key: string, size: number, cost: number, limit: number): boolean {
    // Never fits into the cache, so it must not take room from others.
    if (size > limit) return false
    const spent = (this.#partialReads.get(key)?.spent ?? 0) + cost
    this.#forget(key)
    this.#partialReads.set(key, { size, spent })
    this.#bytes += size
    for (const oldest of this.#partialReads.keys()) {
      if (this.#partialReads.size <= maxKeys && this.#bytes <= limit * rememberedFactor) break
      this.#forget(oldest)
    }
    return spent > size
  }

  /** Whether all values that are remembered have room. */
  hasRoom(limit: number): boolean {
    return this.#bytes <= limit
  }

  /** Begins to count anew for a value. */
  reset(key: string): true {
    const known = this.#partialReads.get(key)
    if (known) this.#partialReads.set(key, { ...known, spent: 0 })
    return true
  }

  #forget(key: string): void {
    this.#bytes -= this.#partialReads.get(key)?.size ?? 0
    this.#partialReads.delete(key)
  }
}

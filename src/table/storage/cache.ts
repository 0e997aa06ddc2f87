interface Entry {
  readonly value: Promise<unknown>
  bytes: number
}

/**
 * Keeps what was read, up to a number of bytes; what was not used for longest goes first. Everything it is
 * asked for is immutable, so nothing in it is ever stale. Those who ask for the same thing at once share one
 * read, and a read that failed is tried again by whoever asks next.
 */
export class ByteCache {
  #limit: number
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The value under `key`, loaded when it is not there; `size` says how many bytes it takes. */
  get<T>(key: string, size: (value: T) => number, load: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key)
    if (known) {
      this.#entries.delete(key)
      this.#entries.set(key, known)
      return known.value as Promise<T>
    }
    const value = load()
    const entry: Entry = { value, bytes: 0 }
    this.#entries.set(key, entry)
    value.then(
      (loaded) => this.#account(key, entry, size(loaded)),
      () => this.#forget(key, entry),
    )
    return value
  }

  /** How many bytes it keeps at most. */
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

  #account(key: string, entry: Entry, bytes: number): void {
    if (this.#entries.get(key) !== entry) return
    entry.bytes = bytes
    this.#bytes += bytes
    this.#shrink()
  }

  #shrink(): void {
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes <= this.#limit) break
      // What is still being read takes nothing yet, and is shared.
      if (bytes > 0) this.#forget(oldest, this.#entries.get(oldest)!)
    }
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }
}

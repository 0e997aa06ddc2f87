import type { Value } from '../../base/store/store.ts'
import type { Found } from './view.ts'

/** The approximate limit of cached bytes in a store. */
const maxBytes = 32 * 1024 * 1024

/** The bytes of an entry besides its key and its text. */
const overhead = 200

/** The most walks whose lengths are cached. */
const maxWalks = 10_000

interface Kept extends Found {
  readonly bytes: number
}

/**
 * A cache of the records that statements found last. They may be outdated, so no result depends on them: they predict
 * the reads of a body, and the database compares their versions.
 */
export class RecordCache {
  readonly #records = new Map<string, Kept>()
  readonly #walks = new Map<string, number>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(most = maxBytes) {
    this.#maxBytes = most
  }

  get(key: string): Found | undefined {
    return this.#records.get(key)
  }

  /** Returns a found record, parsed unless it is cached. Eviction is least recently used. */
  found(key: string, version: string, text: string): Found {
    const known = this.#records.get(key)
    if (known?.version === version) {
      this.#records.delete(key)
      this.#records.set(key, known)
      return known
    }
    return this.keep(key, version, text, frozen(JSON.parse(text)) as Value)
  }

  keep(key: string, version: string, text: string, value: Value): Found {
    this.forget(key)
    const kept: Kept = { version, value, bytes: key.length + text.length + overhead }
    this.#bytes += kept.bytes
    this.#records.set(key, kept)
    for (const [oldest, { bytes }] of this.#records) {
      if (this.#bytes <= this.#maxBytes) break
      this.#records.delete(oldest)
      this.#bytes -= bytes
    }
    return kept
  }

  forget(key: string): void {
    const known = this.#records.get(key)
    if (known === undefined) return
    this.#records.delete(key)
    this.#bytes -= known.bytes
  }

  /** The number of records in the last walk between these bounds. */
  lengthOf(walk: string): number | undefined {
    return this.#walks.get(walk)
  }

  walked(walk: string, length: number): void {
    this.#walks.delete(walk)
    this.#walks.set(walk, length)
    if (this.#walks.size > maxWalks) this.#walks.delete(this.#walks.keys().next().value!)
  }
}

/** Freezes a parsed value, since it is shared. */
function frozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member)
    Object.freeze(value)
  }
  return value
}

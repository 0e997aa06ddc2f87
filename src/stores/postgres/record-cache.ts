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
 *
 * It has two generations. A record enters the young one when it is found, and leaves with the old one unless it was found
 * again meanwhile. So most finds move nothing: a map whose entries move at each find is made anew again and again.
 */
export class RecordCache {
  readonly #maxYoung: number
  #young = new Map<string, Kept>()
  #old = new Map<string, Kept>()
  #youngBytes = 0
  readonly #walks = new Map<string, number>()

  constructor(most = maxBytes) {
    this.#maxYoung = most / 2
  }

  get(key: string): Found | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  /** Returns a found record, parsed unless it is cached. */
  found(key: string, version: string, text: string): Found {
    const young = this.#young.get(key)
    if (young?.version === version) return young
    const old = young === undefined ? this.#old.get(key) : undefined
    if (old?.version === version) return this.#add(key, old)
    return this.keep(key, version, text, frozen(JSON.parse(text)) as Value)
  }

  keep(key: string, version: string, text: string, value: Value): Found {
    return this.#add(key, { version, value, bytes: key.length + text.length + overhead })
  }

  forget(key: string): void {
    this.#youngBytes -= this.#young.get(key)?.bytes ?? 0
    this.#young.delete(key)
    this.#old.delete(key)
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

  #add(key: string, kept: Kept): Found {
    this.#youngBytes += kept.bytes - (this.#young.get(key)?.bytes ?? 0)
    this.#young.set(key, kept)
    this.#old.delete(key)
    if (this.#youngBytes > this.#maxYoung) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    return kept
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

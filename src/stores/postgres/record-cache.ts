import type { Value } from '../../base/store/store.ts'
import type { Found } from './view.ts'

/** The approximate limit of cached bytes in a store. */
const maxBytes = 32 * 1024 * 1024

/** The bytes of an entry besides its key and its text. */
const overhead = 200

/** The most walks whose lengths are cached. */
const maxWalks = 10_000

interface Kept {
  /** Null for a record that was found to be absent. */
  readonly found: Found | null
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

  /** The record as it was found last; null if it was absent, and undefined if it is not known. */
  get(key: string): Found | null | undefined {
    return (this.#young.get(key) ?? this.#old.get(key))?.found
  }

  /** Returns a found record, parsed unless it is cached. */
  found(key: string, version: string, text: string): Found {
    const young = this.#young.get(key)
    const kept = young ?? this.#old.get(key)
    if (kept?.found?.version !== version)
      return this.keep(key, version, text, frozen(JSON.parse(text)) as Value)
    if (young === undefined) this.#add(key, kept)
    return kept.found
  }

  keep(key: string, version: string, text: string, value: Value): Found {
    const found = { version, value }
    this.#add(key, { found, bytes: key.length + text.length + overhead })
    return found
  }

  /** Keeps that a record is absent. */
  keepAbsent(key: string): void {
    if (this.#young.get(key)?.found !== null) this.#add(key, { found: null, bytes: key.length + overhead })
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

  #add(key: string, kept: Kept): void {
    this.#youngBytes += kept.bytes - (this.#young.get(key)?.bytes ?? 0)
    this.#young.set(key, kept)
    this.#old.delete(key)
    if (this.#youngBytes > this.#maxYoung) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
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

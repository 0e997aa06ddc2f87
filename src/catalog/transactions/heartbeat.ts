import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { compareKeys } from '../../base/store/key.ts'
import type { Key, Store, Value } from '../../base/store/store.ts'
import { clearInterval, setInterval, type Timer } from '../../base/time.ts'
import { leaseMillis } from './transaction-record.ts'

/** How often the held records are read. So work learns within two intervals that it was canceled. */
const beatMillis = 1_000

/** A lease with less time left than this is renewed. */
const renewalMillis = (leaseMillis * 2) / 3

/** What a process holds for as long as it renews the lease in a record: work under way, a backup, a task. */
export interface Holding<Held extends Value = Value> {
  readonly key: Key
  /** When the lease of the record ends. Undefined when the record is no longer the holder's. */
  readonly leaseOf: (record: Held, now: number) => number | undefined
  readonly renewed: (record: Held, until: number) => Held
  /** Called once when the record is lost: others changed it, its lease ended, or it is gone. */
  readonly lost: (record: Held | undefined) => void
}

/**
 * Renews all leases that a process holds, with one change of the store. One read a second detects lost leases. A lease
 * that is held for less than a second costs neither.
 */
export class Heartbeat {
  readonly #store: Store
  readonly #now: () => number
  /** Holdings since the last beat, and when each began. */
  readonly #young = new Map<Holding, number>()
  readonly #held = new Map<Holding, number>()
  #timer: Timer | undefined
  #isBeating = false

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Holds a record that is in the store, with a fresh lease. */
  hold<Held extends Value>(holding: Holding<Held>): void {
    this.#young.set(holding as unknown as Holding, this.#now())
    this.#timer ??= unrefTimer(setInterval(() => void this.#beat(), beatMillis))
  }

  release<Held extends Value>(holding: Holding<Held>): void {
    this.#young.delete(holding as unknown as Holding)
    this.#held.delete(holding as unknown as Holding)
  }

  /** For how many milliseconds this process has held its oldest lease; 0 without any. */
  get oldestMillis(): number {
    // Both are in the order in which they were begun.
    const since = this.#held.values().next().value ?? this.#young.values().next().value
    return since === undefined ? 0 : Math.max(0, this.#now() - since)
  }

  /** Whether this process holds the lease in a record. */
  holds(key: Key): boolean {
    const isOf = (holding: Holding) => compareKeys(holding.key, key) === 0
    return [...this.#young.keys(), ...this.#held.keys()].some(isOf)
  }

  async #beat(): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    const held = [...this.#held.keys()]
    for (const [holding, since] of this.#young) this.#held.set(holding, since)
    this.#young.clear()
    if (this.#held.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    try {
      if (held.length > 0) await this.#look(held)
    } catch {
      // The next beat tries again, for as long as the leases last.
    } finally {
      this.#isBeating = false
    }
  }

  async #look(held: readonly Holding[]): Promise<void> {
    const now = this.#now()
    const records = await this.#store.read((reader) => held.map(({ key }) => reader.get(key)))
    let isDue = false
    for (const [i, holding] of held.entries()) {
      const record = records[i]
      const until = record === undefined ? undefined : holding.leaseOf(record, now)
      if (until === undefined) this.#lose(holding, record)
      else if (until - now < renewalMillis) isDue = true
    }
    // All at once, so that all are due together the next time, too.
    if (isDue) await this.#renew(held.filter((holding) => this.#held.has(holding)))
  }

  #renew(held: readonly Holding[]): Promise<void> {
    return this.#store.write((writer) => {
      const now = this.#now()
      for (const { key, leaseOf, renewed } of held) {
        const record = writer.get(key)
        if (record !== undefined && leaseOf(record, now) !== undefined)
          writer.put(key, renewed(record, now + leaseMillis))
      }
    })
  }

  #lose(holding: Holding, record: Value | undefined): void {
    if (this.#held.delete(holding)) holding.lost(record)
  }
}

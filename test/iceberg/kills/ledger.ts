import assert from 'node:assert/strict'

/** What a writer knows of its commit. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown'

interface Attempt {
  readonly began: number
  ended?: number
  outcome?: Outcome
}

/** The commits that were tried on a group of tables, each with a marker that all of its tables get. */
export class Ledger {
  readonly counts: Record<Outcome, number> = { acknowledged: 0, refused: 0, unknown: 0 }
  readonly #attempts = new Map<number, Attempt>()
  #moment = 0

  /** Begins a commit, and returns its marker. */
  begin(marker: number): void {
    assert(!this.#attempts.has(marker), `the marker ${marker} is used twice`)
    this.#attempts.set(marker, { began: this.#moment++ })
  }

  end(marker: number, outcome: Outcome): void {
    Object.assign(this.#attempts.get(marker)!, { outcome, ended: this.#moment++ })
    this.counts[outcome]++
  }

  /** The markers that a reader who begins now must find. */
  acknowledged(): readonly number[] {
    return [...this.#attempts]
      .filter(([, { outcome }]) => outcome === 'acknowledged')
      .map(([marker]) => marker)
  }

  /** Checks what a reader found in the tables, one after the other, while commits are under way. */
  checkRead(before: readonly number[], tables: readonly (readonly number[])[]): void {
    let earlier = before
    for (const markers of tables) {
      const found = new Set(markers)
      const missing = earlier.filter((marker) => !found.has(marker))
      assert.deepEqual(missing, [], 'a reader does not find what is there')
      earlier = markers
    }
  }

  /** Checks the markers of all tables, in one order, when nothing is under way. */
  check(tables: readonly (readonly number[])[]): void {
    const [first = [], ...others] = tables
    for (const other of others)
      assert.deepEqual(other, first, 'a commit is there in part, or in another order')
    assert.equal(new Set(first).size, first.length, `a commit is there twice: ${first}`)
    const there = new Set(first)
    for (const [marker, { outcome }] of this.#attempts) {
      assert(outcome !== undefined, `the commit ${marker} is under way`)
      if (outcome === 'acknowledged') assert(there.has(marker), `the acknowledged commit ${marker} is lost`)
      if (outcome === 'refused') assert(!there.has(marker), `the refused commit ${marker} is there`)
    }
  }

  /** Checks markers in the order of their commits: what had ended before another one began comes before it. */
  checkOrder(markers: readonly number[]): void {
    let latest = -1
    for (const marker of markers) {
      const attempt = this.#attempts.get(marker)
      assert(attempt !== undefined, `nobody tried the commit ${marker}`)
      // One without an answer may have happened later.
      const ended = attempt.outcome === 'unknown' ? Number.POSITIVE_INFINITY : attempt.ended!
      assert(ended > latest, `the commit ${marker} is behind one that began after its answer`)
      latest = Math.max(latest, attempt.began)
    }
  }
}

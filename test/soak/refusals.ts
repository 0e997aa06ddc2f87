import assert from 'node:assert/strict'
import type { Difference } from '../engine/predicate/reference/difference.ts'

/** One in this many draws may be refused by one side only. More are a systematic difference. */
const drawsToRefusal = 5_000

/** The least number of refusals for an estimate of their rate. */
const fewest = 3

/** The most refusals in the report. */
const mostKept = 100

/** Values that one side refused and the other one accepted. That is no failure, as long as it is rare. */
export class Refusals {
  /** The first refusals, with the seeds of their tables. */
  readonly kept: string[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Adds the differences for the table of a seed. Fails when one result is wrong. */
  add(seed: number, differences: readonly Difference[]): void {
    const wrong = differences.filter(({ kind }) => kind === 'answer')
    const told = wrong.slice(0, 10).map(({ text }) => text)
    assert.ok(wrong.length === 0, `seed ${seed}:\n${told.join('\n')}`)
    this.#count += differences.length
    const kept = differences.slice(0, mostKept - this.kept.length)
    this.kept.push(...kept.map(({ text }) => `refused by one side, seed ${seed}: ${text}`))
  }

  /** Fails when there are too many refusals for the number of draws. */
  check(draws: number): void {
    const isRare = this.#count < fewest || this.#count * drawsToRefusal <= draws
    assert.ok(isRare, `One side alone refuses ${this.#count} of ${draws} draws.`)
  }
}

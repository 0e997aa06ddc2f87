import assert from 'node:assert/strict'
import type { Difference } from '../engine/predicate/reference/difference.ts'

/** Of how many draws one may be refused by one side alone: more are a class, and no rare case. */
const drawsToRefusal = 5_000

/** Fewer refusals than these tell nothing of how many there are. */
const fewest = 3

/** Only so many are kept for a person to read. */
const mostKept = 100

/** What one side refused and the other one answered. Such a refusal is no wrong answer, as long as it is rare. */
export class Refusals {
  /** The first of them, with the seeds of their tables. */
  readonly kept: string[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Takes in how both sides differed over the table of a seed. Fails when one answer is wrong. */
  add(seed: number, differences: readonly Difference[]): void {
    const wrong = differences.filter(({ kind }) => kind === 'answer')
    const told = wrong.slice(0, 10).map(({ text }) => text)
    assert.ok(wrong.length === 0, `seed ${seed}:\n${told.join('\n')}`)
    this.#count += differences.length
    const kept = differences.slice(0, mostKept - this.kept.length)
    this.kept.push(...kept.map(({ text }) => `refused by one side, seed ${seed}: ${text}`))
  }

  /** Fails when there are too many of them among so many draws. */
  check(draws: number): void {
    const isRare = this.#count < fewest || this.#count * drawsToRefusal <= draws
    assert.ok(isRare, `One side alone refuses ${this.#count} of ${draws} draws.`)
  }
}

/** Most steps of a table: 45 years of days, computed in 10 ms. */
const mostSteps = 1 << 14

/** Results of a function by step, for a range of steps that grows as needed. */
export class StepTable {
  /** The step of the first entry. */
  first = 0
  /** One less than the number of entries, which is a power of two; -1 if there is none. */
  mask = -1
  numbers: Int32Array = new Int32Array(0)
  /** Results that are BigInts, as halves. */
  halves: Int32Array = new Int32Array(0)
  readonly #compute: (step: number) => number | bigint

  constructor(compute: (step: number) => number | bigint) {
    this.#compute = compute
  }

  /**
   * Extends the table to all steps from `least` to `greatest`. False if they are too many, or a result is too large.
   */
  cover(least: number, greatest: number): boolean {
    const end = this.first + this.mask
    if (this.mask >= 0 && least >= this.first && greatest <= end) return true
    const [from, to] = [Math.min(this.first, least), Math.max(end, greatest)]
    // The old range may be far from the new one.
    const [first, last] = this.mask >= 0 && to - from < mostSteps ? [from, to] : [least, greatest]
    if (last - first >= mostSteps) return false
    const size = 2 ** Math.ceil(Math.log2(last - first + 1))
    return this.#fill(first, size)
  }

  #fill(first: number, size: number): boolean {
    const numbers = new Int32Array(size)
    const halves = new BigInt64Array(size)
    for (let i = 0; i < size; i++) {
      const result = this.#compute(first + i)
      if (typeof result === 'number') numbers[i] = result
      else if (BigInt.asIntN(64, result) === result) halves[i] = result
      else return false
    }
    this.first = first
    this.mask = size - 1
    this.numbers = numbers
    this.halves = new Int32Array(halves.buffer)
    return true
  }
}

/** V8 keeps so short an array among its objects. A view of one moves its numbers to memory of their own. */
const few = 16

/** Collects runs of rows, joining those that touch. */
export class RunBuilder {
  #runs = new Int32Array(few)
  #length = 0
  /** Rows collected so far. */
  rows = 0

  add(start: number, end: number): void {
    if (end <= start) return
    this.rows += end - start
    if (this.#length > 0 && this.#runs[this.#length - 1] === start) {
      this.#runs[this.#length - 1] = end
      return
    }
    if (this.#length + 2 > this.#runs.length) {
      const grown = new Int32Array(this.#runs.length * 2)
      grown.set(this.#runs)
      this.#runs = grown
    }
    this.#runs[this.#length++] = start
    this.#runs[this.#length++] = end
  }

  done(): Int32Array {
    return this.#length <= few ? this.#runs.slice(0, this.#length) : this.#runs.subarray(0, this.#length)
  }
}

/** Number of runs from which on their total length is cached. All columns share the same runs. */
const many = 64

const counts = new WeakMap<Int32Array, number>()

/** The total number of rows in the runs. */
export function rowsOfRuns(runs: ArrayLike<number>): number {
  if (!(runs instanceof Int32Array) || runs.length < many) return count(runs)
  const known = counts.get(runs)
  if (known !== undefined) return known
  const rows = count(runs)
  counts.set(runs, rows)
  return rows
}

function count(runs: ArrayLike<number>): number {
  let rows = 0
  for (let i = 0; i < runs.length; i += 2) rows += runs[i + 1]! - runs[i]!
  return rows
}

const rowsByRuns = new WeakMap<Int32Array, Int32Array>()

/** For many runs, the row at each position. */
export function rowsAt(runs: Int32Array): Int32Array {
  const known = rowsByRuns.get(runs)
  if (known) return known
  const rows = new Int32Array(rowsOfRuns(runs))
  let at = 0
  for (let i = 0; i < runs.length; i += 2) {
    const end = runs[i + 1]!
    for (let row = runs[i]!; row < end; row++) rows[at++] = row
  }
  rowsByRuns.set(runs, rows)
  return rows
}

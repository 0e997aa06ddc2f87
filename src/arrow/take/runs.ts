/** Collects runs of rows, joining those that touch. */
export class RunBuilder {
  #runs = new Int32Array(16)
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
    return this.#runs.subarray(0, this.#length)
  }
}

/** Rows, by increasing distance; rows of one distance by position. */
export interface Nearest {
  readonly distances: Float32Array
  readonly positions: Float64Array
}

/** Rows that may be among the nearest: their bounds are known, and not yet their distances. */
export interface Candidates {
  /** In no order. */
  readonly positions: Float64Array
  /** No distance is below. */
  readonly lower: Float32Array
  /** No distance is above. Infinity for a row that may lack a distance, or lie outside of the range of the search. */
  readonly upper: Float32Array
}

/**
 * Keeps the nearest of many rows: a heap whose root is the farthest one kept. It grows with the rows, so a limit far
 * above the number of rows costs nothing.
 */
export class NearestRows {
  readonly #limit: number
  #distances = new Float32Array(16)
  #positions = new Float64Array(16)
  #length = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The distance below which a row is kept; NaN is never below it. */
  get bound(): number {
    return this.#length < this.#limit ? Number.POSITIVE_INFINITY : this.#distances[0]!
  }

  /** Whether there is room for any row, even at an infinite distance. */
  get hasRoom(): boolean {
    return this.#length < this.#limit
  }

  /** The positions of the rows that are kept, in no order. */
  get positions(): Float64Array {
    return this.#positions.subarray(0, this.#length)
  }

  /** The distances of these rows. */
  get distances(): Float32Array {
    return this.#distances.subarray(0, this.#length)
  }

  /** Adds a row. Its distance is a number, rounded to 32 bits. */
  add(distance: number, position: number): void {
    if (this.#length < this.#limit) {
      if (this.#length === this.#distances.length) this.#grow()
      this.#siftUp(this.#length++, distance, position)
    } else if (this.#isBehind(0, distance, position)) {
      this.#sink(0, this.#length, distance, position)
    }
  }

  /** The rows in order. No row may be added afterwards. */
  sorted(): Nearest {
    const distances = this.#distances
    const positions = this.#positions
    for (let end = this.#length - 1; end > 0; end--) {
      const distance = distances[end]!
      const position = positions[end]!
      distances[end] = distances[0]!
      positions[end] = positions[0]!
      this.#sink(0, end, distance, position)
    }
    return { distances: distances.slice(0, this.#length), positions: positions.slice(0, this.#length) }
  }

  /** Whether the row at `index` follows another one. */
  #isBehind(index: number, distance: number, position: number): boolean {
    const own = this.#distances[index]!
    return own > distance || (own === distance && this.#positions[index]! > position)
  }

  #siftUp(index: number, distance: number, position: number): void {
    const distances = this.#distances
    const positions = this.#positions
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#isBehind(parent, distance, position)) break
      distances[index] = distances[parent]!
      positions[index] = positions[parent]!
      index = parent
    }
    distances[index] = distance
    positions[index] = position
  }

  #sink(index: number, length: number, distance: number, position: number): void {
    const distances = this.#distances
    const positions = this.#positions
    for (;;) {
      let child = 2 * index + 1
      if (child >= length) break
      if (child + 1 < length && this.#isBehind(child + 1, distances[child]!, positions[child]!)) child++
      if (!this.#isBehind(child, distance, position)) break
      distances[index] = distances[child]!
      positions[index] = positions[child]!
      index = child
    }
    distances[index] = distance
    positions[index] = position
  }

  #grow(): void {
    const size = Math.min(this.#limit, this.#length * 2)
    const distances = new Float32Array(size)
    const positions = new Float64Array(size)
    distances.set(this.#distances)
    positions.set(this.#positions)
    this.#distances = distances
    this.#positions = positions
  }
}

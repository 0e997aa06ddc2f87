/** Rows, by increasing distance; rows of one distance by their place. */
export interface Nearest {
  readonly distances: Float32Array
  readonly places: Float64Array
}

/**
 * Keeps the nearest of many rows: a heap whose root is the farthest one kept. It grows with the rows, so a limit far
 * above the number of rows costs nothing.
 */
export class NearestRows {
  readonly #most: number
  #distances = new Float32Array(16)
  #places = new Float64Array(16)
  #length = 0

  constructor(most: number) {
    this.#most = most
  }

  /** The distance below which a row is kept; NaN is never below it. */
  get bound(): number {
    return this.#length < this.#most ? Number.POSITIVE_INFINITY : this.#distances[0]!
  }

  /** Whether there is room for any row, even at an infinite distance. */
  get hasRoom(): boolean {
    return this.#length < this.#most
  }

  /** The positions of the rows that are kept, in no order. */
  get places(): Float64Array {
    return this.#places.subarray(0, this.#length)
  }

  /** Adds a row. Its distance is a number, rounded to 32 bits. */
  add(distance: number, place: number): void {
    if (this.#length < this.#most) {
      if (this.#length === this.#distances.length) this.#grow()
      this.#rise(this.#length++, distance, place)
    } else if (this.#isBehind(0, distance, place)) {
      this.#sink(0, this.#length, distance, place)
    }
  }

  /** The rows in order. No row may be added afterwards. */
  sorted(): Nearest {
    const distances = this.#distances
    const places = this.#places
    for (let end = this.#length - 1; end > 0; end--) {
      const distance = distances[end]!
      const place = places[end]!
      distances[end] = distances[0]!
      places[end] = places[0]!
      this.#sink(0, end, distance, place)
    }
    return { distances: distances.slice(0, this.#length), places: places.slice(0, this.#length) }
  }

  /** Whether the row at `index` follows another one. */
  #isBehind(index: number, distance: number, place: number): boolean {
    const own = this.#distances[index]!
    return own > distance || (own === distance && this.#places[index]! > place)
  }

  #rise(index: number, distance: number, place: number): void {
    const distances = this.#distances
    const places = this.#places
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#isBehind(parent, distance, place)) break
      distances[index] = distances[parent]!
      places[index] = places[parent]!
      index = parent
    }
    distances[index] = distance
    places[index] = place
  }

  #sink(index: number, length: number, distance: number, place: number): void {
    const distances = this.#distances
    const places = this.#places
    for (;;) {
      let child = 2 * index + 1
      if (child >= length) break
      if (child + 1 < length && this.#isBehind(child + 1, distances[child]!, places[child]!)) child++
      if (!this.#isBehind(child, distance, place)) break
      distances[index] = distances[child]!
      places[index] = places[child]!
      index = child
    }
    distances[index] = distance
    places[index] = place
  }

  #grow(): void {
    const size = Math.min(this.#most, this.#length * 2)
    const distances = new Float32Array(size)
    const places = new Float64Array(size)
    distances.set(this.#distances)
    places.set(this.#places)
    this.#distances = distances
    this.#places = places
  }
}

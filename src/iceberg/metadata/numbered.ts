import { illegalArgument } from '../errors.ts'

/** Ids end below this, so that there is always a next one. */
const highestId = 2 ** 31 - 2

/** How items of a kind are compared: two are the same where both texts are. The first one is cheap to make. */
export interface Comparison<T> {
  readonly rough: (item: T) => string
  readonly exact: (item: T) => string
}

/**
 * Items of a table that have ids and are added once: schemas, partition specs, sort orders. An item is found by what it
 * says, in a time that does not depend on how many there are.
 */
export class Numbered<T> {
  readonly #items: Map<number, T>
  readonly #comparison: Comparison<T>
  /** Ids by the exact text, for each rough text that was asked for. */
  readonly #known = new Map<string, Map<string, number>>()
  #rough: Map<string, Set<number>> | undefined
  #highest: number | undefined
  #changed = false

  constructor(items: readonly (readonly [number, T])[], comparison: Comparison<T>) {
    this.#items = new Map(items)
    this.#comparison = comparison
  }

  get size(): number {
    return this.#items.size
  }

  /** Whether items were added or removed. */
  get changed(): boolean {
    return this.#changed
  }

  get(id: number): T | undefined {
    return this.#items.get(id)
  }

  values(): Iterable<T> {
    return this.#items.values()
  }

  /** The id of the item that says the same. */
  find(item: T): number | undefined {
    const rough = this.#comparison.rough(item)
    const candidates = this.#roughIds().get(rough)
    if (candidates === undefined) return undefined
    let known = this.#known.get(rough)
    if (known === undefined) {
      known = new Map()
      for (const id of candidates) {
        const exact = this.#comparison.exact(this.#items.get(id)!)
        if (!known.has(exact)) known.set(exact, id)
      }
      this.#known.set(rough, known)
    }
    return known.get(this.#comparison.exact(item))
  }

  /** One more than the highest id, and at least `first`. */
  nextId(first: number): number {
    if (this.#highest === undefined) {
      this.#highest = -1
      for (const id of this.#items.keys()) this.#highest = Math.max(this.#highest, id)
    }
    const next = Math.max(first, this.#highest + 1)
    if (next > highestId) throw illegalArgument(`Invalid ID: there is none after ${highestId}`)
    return next
  }

  add(id: number, item: T): void {
    this.#items.set(id, item)
    this.#changed = true
    if (this.#highest !== undefined) this.#highest = Math.max(this.#highest, id)
    const rough = this.#comparison.rough(item)
    if (this.#rough !== undefined) addTo(this.#rough, rough, id)
    this.#known.get(rough)?.set(this.#comparison.exact(item), id)
  }

  delete(id: number): boolean {
    const item = this.#items.get(id)
    if (item === undefined) return false
    this.#items.delete(id)
    this.#changed = true
    if (id === this.#highest) this.#highest = undefined
    const rough = this.#comparison.rough(item)
    this.#rough?.get(rough)?.delete(id)
    // Another item may say the same: files of other writers have such.
    this.#known.delete(rough)
    return true
  }

  #roughIds(): Map<string, Set<number>> {
    if (this.#rough === undefined) {
      this.#rough = new Map()
      for (const [id, item] of this.#items) addTo(this.#rough, this.#comparison.rough(item), id)
    }
    return this.#rough
  }
}

function addTo(ids: Map<string, Set<number>>, key: string, id: number): void {
  const known = ids.get(key)
  if (known === undefined) ids.set(key, new Set([id]))
  else known.add(id)
}

/** Items in a shelf at most. */
const widest = 512

interface Shelf<T> {
  readonly paths: readonly string[]
  readonly items: readonly T[]
}

/**
 * An immutable map from paths to items, ordered by path. A change copies one shelf of items and the list of
 * shelves, and shares the rest.
 */
export class Shelves<T> {
  readonly #shelves: readonly Shelf<T>[]

  constructor(shelves: readonly Shelf<T>[] = []) {
    this.#shelves = shelves
  }

  get(path: string): T | undefined {
    const shelf = this.#shelves[this.#shelfOf(path)]
    if (!shelf) return undefined
    const at = firstFrom(shelf.paths, path)
    return shelf.paths[at] === path ? shelf.items[at] : undefined
  }

  with(path: string, item: T): Shelves<T> {
    const place = this.#shelfOf(path)
    const shelf = this.#shelves[place] ?? { paths: [], items: [] }
    const at = firstFrom(shelf.paths, path)
    const replaced = shelf.paths[at] === path ? 1 : 0
    const paths = shelf.paths.toSpliced(at, replaced, path)
    const items = shelf.items.toSpliced(at, replaced, item)
    if (paths.length <= widest) return new Shelves(this.#shelves.toSpliced(place, 1, { paths, items }))
    const half = paths.length >>> 1
    const lower = { paths: paths.slice(0, half), items: items.slice(0, half) }
    const upper = { paths: paths.slice(half), items: items.slice(half) }
    return new Shelves(this.#shelves.toSpliced(place, 1, lower, upper))
  }

  /** Without the items whose path is `path` or, if it ends in a slash, begins with it. */
  without(path: string): Shelves<T> {
    const goes: (candidate: string) => boolean = path.endsWith('/')
      ? (candidate) => candidate.startsWith(path)
      : (candidate) => candidate === path
    const first = this.#shelfOf(path)
    const left: Shelf<T>[] = []
    let next = first
    // What goes lies together, in one shelf or several.
    for (let more = true; more && next < this.#shelves.length; next++) {
      const { paths, items } = this.#shelves[next]!
      const from = firstFrom(paths, path)
      let to = from
      while (to < paths.length && goes(paths[to]!)) to++
      more = to === paths.length
      if (to - from === paths.length) continue
      left.push({ paths: paths.toSpliced(from, to - from), items: items.toSpliced(from, to - from) })
    }
    return new Shelves(this.#shelves.toSpliced(first, next - first, ...left))
  }

  /** All items whose path begins with `prefix`, in order. */
  *under(prefix: string): Generator<[path: string, item: T], void, undefined> {
    for (let i = this.#shelfOf(prefix); i < this.#shelves.length; i++) {
      const { paths, items } = this.#shelves[i]!
      for (let at = firstFrom(paths, prefix); at < paths.length; at++) {
        if (!paths[at]!.startsWith(prefix)) return
        yield [paths[at]!, items[at]!]
      }
    }
  }

  /** The shelf that holds `path`, if any does. */
  #shelfOf(path: string): number {
    let low = 1
    let high = this.#shelves.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#shelves[middle]!.paths[0]! <= path) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}

/** The position of the first path that is not less than `path`. */
function firstFrom(paths: readonly string[], path: string): number {
  let low = 0
  let high = paths.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (paths[middle]! < path) low = middle + 1
    else high = middle
  }
  return low
}

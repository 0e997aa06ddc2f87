import { type Branch, childAt, countBelow, type Leaf, type Node } from './node.ts'

interface Step<V> {
  readonly branch: Branch<V>
  at: number
}

/**
 * Walks the leaves with keys from `lower` up to `upper`, in either direction. An undefined bound is no bound. Callers
 * loop over the entries of each leaf themselves: a generator step per entry would cost a listing more than the entry.
 */
export class LeafCursor<V> {
  /** The current position: the entries of `leaf` from `from` up to `to`. Valid once `next` returned true. */
  leaf: Leaf<V> | undefined
  from = 0
  to = 0
  readonly #root: Node<V>
  readonly #lower: string | undefined
  readonly #upper: string | undefined
  readonly #reverse: boolean
  readonly #path: Step<V>[] = []
  #isLast = false

  constructor(root: Node<V>, lower: string | undefined, upper: string | undefined, reverse = false) {
    this.#root = root
    this.#lower = lower
    this.#upper = upper
    this.#reverse = reverse
  }

  /** Moves to the first leaf, and then to the next. False after the last leaf. */
  next(): boolean {
    if (this.#isLast) return false
    const leaf = this.leaf
      ? this.#advance()
      : this.#descend(this.#root, this.#reverse ? this.#upper : this.#lower)
    if (!leaf) return false
    this.leaf = leaf
    this.from = this.#lower === undefined ? 0 : countBelow(leaf, this.#lower)
    this.to = this.#upper === undefined ? leaf.items.length : countBelow(leaf, this.#upper)
    this.#isLast = this.#reverse ? this.from > 0 : this.to < leaf.items.length
    return true
  }

  /** Descends to the leaf for `key`; without a key, to the outermost leaf. */
  #descend(root: Node<V>, key: string | undefined): Leaf<V> {
    let node = root
    while (!node.leaf) {
      const at: number = key !== undefined ? childAt(node, key) : this.#reverse ? node.items.length - 1 : 0
      this.#path.push({ branch: node, at })
      node = node.items[at]!
    }
    return node
  }

  #advance(): Leaf<V> | undefined {
    for (let step = this.#path.pop(); step; step = this.#path.pop()) {
      step.at += this.#reverse ? -1 : 1
      const next = step.branch.items[step.at]
      if (next) {
        this.#path.push(step)
        return this.#descend(next, undefined)
      }
    }
    return undefined
  }
}

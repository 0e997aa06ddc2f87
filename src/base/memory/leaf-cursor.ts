import { type Branch, childAt, countBelow, type Leaf, type Node } from './node.ts'

interface Step<V> {
  readonly branch: Branch<V>
  at: number
}

/**
 * Goes through the leaves that hold keys from `lower` up to `upper`, in order or against it; a bound that is
 * undefined bounds nothing. Callers loop over the entries of each leaf themselves: a generator for each entry
 * would cost a listing more than the entry does.
 */
export class LeafCursor<V> {
  /** Where the cursor is: the entries of `leaf` from `from` up to `to`. Valid once `next` returned true. */
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

  /** Goes to the first leaf, then from leaf to leaf. False when no leaf is left. */
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

  /** Goes down to the leaf in which `key` falls; without one, to the outermost leaf. */
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

/** The most entries or children that a node has. */
export const width = 64
/** A node with fewer items than this takes items from a neighbour, or merges with it. */
export const least = 16

/** Identifies an edit, which may change the nodes that it made in place. */
export type Owner = object

/** Keys in order, and the value of each. */
export class Leaf<V> {
  readonly leaf = true
  readonly owner: Owner | undefined
  readonly keys: string[]
  readonly items: V[]

  constructor(owner: Owner | undefined, keys: string[], items: V[]) {
    this.owner = owner
    this.keys = keys
    this.items = items
  }
}

/** Children in order. No key in `items[i]` is less than `keys[i]`, except that `keys[0]` bounds nothing. */
export class Branch<V> {
  readonly leaf = false
  readonly owner: Owner | undefined
  readonly keys: string[]
  readonly items: Node<V>[]

  constructor(owner: Owner | undefined, keys: string[], items: Node<V>[]) {
    this.owner = owner
    this.keys = keys
    this.items = items
  }
}

/*
 * Nodes are made by constructors, not by literals. While a large map is filled, V8 finds that objects of a literal live
 * long, and then allocates them in the old space. There, each path that a write copies stays until a full collection,
 * even when it is soon replaced. That cost 3 KB a write, and up to half of its time.
 */
export type Node<V> = Leaf<V> | Branch<V>

/** The node itself when `owner` made it, otherwise a copy that belongs to `owner`. */
export function owned<V, N extends Node<V>>(node: N, owner: Owner): N {
  if (node.owner === owner) return node
  const copy = node.leaf
    ? new Leaf(owner, node.keys.slice(), node.items.slice())
    : new Branch(owner, node.keys.slice(), node.items.slice())
  return copy as Node<V> as N
}

/** Moves the items from `at` on into a new node, and returns it. */
export function splitOff<V>(node: Node<V>, at: number, owner: Owner): Node<V> {
  const keys = node.keys.splice(at)
  return node.leaf
    ? new Leaf(owner, keys, node.items.splice(at))
    : new Branch(owner, keys, node.items.splice(at))
}

/** The index of the child that has `key`, if any has it. */
export function childAt(branch: Branch<unknown>, key: string): number {
  const { keys } = branch
  let low = 1
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! <= key) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** How many keys of a leaf are less than `key`. */
export function countBelow(leaf: Leaf<unknown>, key: string): number {
  const { keys } = leaf
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

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

import {
  Branch,
  childAt,
  countBelow,
  Leaf,
  LeafCursor,
  least,
  type Node,
  type Owner,
  owned,
  splitOff,
  width,
} from './node.ts'

/**
 * An immutable map from strings to values, in the order of JavaScript's `<`: a B+tree. A change copies the path
 * to what it changes and shares the rest. {@link MapEdit} makes changes.
 */
export class OrderedMap<V> {
  static readonly empty: OrderedMap<never> = new OrderedMap(new Leaf<never>(undefined, [], []), 0)

  readonly root: Node<V>
  /** The number of entries. */
  readonly size: number

  constructor(root: Node<V>, size: number) {
    this.root = root
    this.size = size
  }

  /** The entry of a key: the map's own string, and the value. */
  find(key: string): Found<V> | undefined {
    return find(this.root, key)
  }

  /** The leaves with the entries from `lower` up to `upper`. */
  leaves(lower?: string, upper?: string, reverse?: boolean): LeafCursor<V> {
    return new LeafCursor(this.root, lower, upper, reverse)
  }

  /** The entries from `lower` up to `upper`, in order. */
  *entries(lower?: string, upper?: string): Generator<[key: string, value: V], void, undefined> {
    const cursor = this.leaves(lower, upper)
    while (cursor.next()) {
      const { keys, items } = cursor.leaf!
      for (let at = cursor.from; at < cursor.to; at++) yield [keys[at]!, items[at]!]
    }
  }
}

export interface Found<V> {
  readonly key: string
  readonly value: V
}

/**
 * A series of changes to a map, which stays as it is. An edit changes its own nodes in place, so that many changes cost
 * little more than the first.
 */
export class MapEdit<V> {
  #root: Node<V>
  #size: number
  #owner: Owner = {}
  /** The value that the running put replaced. */
  #replaced: V | undefined

  constructor(map: OrderedMap<V>) {
    this.#root = map.root
    this.#size = map.size
  }

  get size(): number {
    return this.#size
  }

  /** The map with all changes so far. Later changes do not affect it. */
  map(): OrderedMap<V> {
    this.#owner = {}
    return new OrderedMap(this.#root, this.#size)
  }

  find(key: string): Found<V> | undefined {
    return find(this.#root, key)
  }

  /** The leaves as {@link OrderedMap.leaves} has them. Valid until the next change. */
  leaves(lower?: string, upper?: string, reverse?: boolean): LeafCursor<V> {
    return new LeafCursor(this.#root, lower, upper, reverse)
  }

  /** The greatest key below `bound`, if any. It makes no map, so later changes cost no more. */
  lastBelow(bound: string): string | undefined {
    return lastBelow(this.#root, bound)
  }

  /** Puts a value, and returns the one before it, if there was one. */
  put(key: string, value: V): V | undefined {
    const lower = this.#put(this.#root, key, value)
    const upper = overflow(lower, this.#owner)
    this.#root = upper ? new Branch(this.#owner, ['', upper.keys[0]!], [lower, upper]) : lower
    const replaced = this.#replaced
    this.#replaced = undefined
    return replaced
  }

  /** Removes the entry of a key, and returns its value; nothing happens when there is none. */
  remove(key: string): V | undefined {
    const found = find(this.#root, key)
    if (found === undefined) return undefined
    this.#root = this.#remove(this.#root, key)
    this.#size--
    while (!this.#root.leaf && this.#root.items.length === 1) this.#root = this.#root.items[0]!
    return found.value
  }

  #put(shared: Node<V>, key: string, value: V): Node<V> {
    if (shared.leaf) return this.#putInLeaf(shared, key, value)
    const node = owned<V, Branch<V>>(shared, this.#owner)
    const at = childAt(node, key)
    const child = this.#put(node.items[at]!, key, value)
    node.items[at] = child
    const upper = overflow(child, this.#owner)
    if (upper) {
      node.keys.splice(at + 1, 0, upper.keys[0]!)
      node.items.splice(at + 1, 0, upper)
    }
    return node
  }

  #putInLeaf(shared: Leaf<V>, key: string, value: V): Leaf<V> {
    const at = countBelow(shared, key)
    if (shared.keys[at] === key) {
      const leaf = owned<V, Leaf<V>>(shared, this.#owner)
      this.#replaced = leaf.items[at]
      leaf.items[at] = value
      return leaf
    }
    this.#size++
    if (shared.owner === this.#owner) {
      shared.keys.splice(at, 0, key)
      shared.items.splice(at, 0, value)
      return shared
    }
    // Copying and inserting in one step: an array that grows after a copy is copied again, with spare room.
    return new Leaf(this.#owner, shared.keys.toSpliced(at, 0, key), shared.items.toSpliced(at, 0, value))
  }

  #remove(shared: Node<V>, key: string): Node<V> {
    const node = owned<V, Node<V>>(shared, this.#owner)
    if (node.leaf) {
      const at = countBelow(node, key)
      node.keys.splice(at, 1)
      node.items.splice(at, 1)
      return node
    }
    const at = childAt(node, key)
    const child = this.#remove(node.items[at]!, key)
    node.items[at] = child
    if (child.items.length < least && node.items.length > 1) refill(node, Math.max(0, at - 1), this.#owner)
    return node
  }
}

function find<V>(root: Node<V>, key: string): Found<V> | undefined {
  let node = root
  while (!node.leaf) node = node.items[childAt(node, key)]!
  const at = countBelow(node, key)
  const own = node.keys[at]
  return own === key ? { key: own, value: node.items[at]! } : undefined
}

/** Splits a node that has too many items, and returns its upper part. */
function overflow<V>(node: Node<V>, owner: Owner): Node<V> | undefined {
  return node.items.length > width ? splitOff(node, (width >>> 1) + 1, owner) : undefined
}

/** Merges the children at `at` and after it, or balances them when one node cannot hold both. */
function refill<V>(parent: Branch<V>, at: number, owner: Owner): void {
  const left = owned<V, Node<V>>(parent.items[at]!, owner)
  const right = parent.items[at + 1]!
  if (left.leaf && right.leaf) {
    left.keys.push(...right.keys)
    left.items.push(...right.items)
  } else if (!left.leaf && !right.leaf) {
    // The parent has the key that bounds the first child of a branch.
    left.keys.push(parent.keys[at + 1]!, ...right.keys.slice(1))
    left.items.push(...right.items)
  }
  parent.items[at] = left
  if (left.items.length <= width) {
    parent.keys.splice(at + 1, 1)
    parent.items.splice(at + 1, 1)
    return
  }
  const upper = splitOff(left, left.items.length >>> 1, owner)
  parent.keys[at + 1] = upper.keys[0]!
  parent.items[at + 1] = upper
}

function lastBelow(node: Node<unknown>, bound: string): string | undefined {
  if (node.leaf) return node.keys[countBelow(node, bound) - 1]
  for (let at = childAt(node, bound); at >= 0; at--) {
    const found = lastBelow(node.items[at]!, bound)
    if (found !== undefined) return found
  }
  return undefined
}

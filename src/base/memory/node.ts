/** The most entries or children that a node has. */
export const width = 64
/** A node with fewer items than this takes items from a neighbour, or becomes one with it. */
export const least = 16

/** Stands for one edit. The edit that made a node may change the node in place. */
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
 * Constructors make the nodes, and no literals do. While a large map is filled, V8 learns of a literal that its
 * objects last, and then allocates them in the old space. There every path that a write copies, though soon
 * replaced, stays until a full collection: 3 KB a write, and up to half of the time of a write.
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

/** Takes the items from `at` on out of a node, and returns a node that has them. */
export function splitOff<V>(node: Node<V>, at: number, owner: Owner): Node<V> {
  const keys = node.keys.splice(at)
  return node.leaf
    ? new Leaf(owner, keys, node.items.splice(at))
    : new Branch(owner, keys, node.items.splice(at))
}

/** Which child of a branch holds `key`, if any does. */
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

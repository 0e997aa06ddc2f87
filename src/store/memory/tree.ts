import type { Span } from '../range.ts'
import type { Entry, Value } from '../store.ts'
import {
  Branch,
  childAt,
  countBelow,
  Leaf,
  least,
  type Node,
  type Owner,
  owned,
  splitOff,
  width,
} from './node.ts'
import { walk } from './walk.ts'

/** What a tree holds under a code. */
export interface Found {
  readonly code: string
  readonly value: Value
}

/**
 * An immutable ordered map from keys to values: a B+tree whose changes copy the path to what they change
 * and share the rest.
 */
export class OrderedTree {
  static readonly empty = new OrderedTree(new Leaf(undefined, [], []), 0)

  readonly root: Node
  /** How many entries there are. */
  readonly size: number

  constructor(root: Node, size: number) {
    this.root = root
    this.size = size
  }

  /** The entry of a key's code: the tree's own string, and the value. */
  find(code: string): Found | undefined {
    return find(this.root, code)
  }

  /** The entries of a span, for as long as `access` has not ended. */
  walk(span: Span, access: { readonly ended: boolean }): Iterable<Entry> {
    const { root } = this
    return { [Symbol.iterator]: () => walk(root, span, access) }
  }
}

/**
 * A series of changes to a tree, of which the tree itself sees nothing. Nodes the edit made are changed in
 * place, so that many changes cost little more than the first.
 */
export class TreeEdit {
  #root: Node
  #size: number
  #owner: Owner = {}

  constructor(tree: OrderedTree) {
    this.#root = tree.root
    this.#size = tree.size
  }

  /** The tree with all changes so far. Later changes leave it alone. */
  tree(): OrderedTree {
    this.#owner = {}
    return new OrderedTree(this.#root, this.#size)
  }

  find(code: string): Found | undefined {
    return find(this.#root, code)
  }

  /** Puts a value nobody changes any more. */
  put(code: string, value: Value): void {
    const lower = this.#put(this.#root, code, value)
    const upper = overflow(lower, this.#owner)
    this.#root = upper ? new Branch(this.#owner, ['', upper.codes[0]!], [lower, upper]) : lower
  }

  remove(code: string): void {
    if (find(this.#root, code) === undefined) return
    this.#root = this.#remove(this.#root, code)
    this.#size--
    while (!this.#root.leaf && this.#root.items.length === 1) this.#root = this.#root.items[0]!
  }

  #put(shared: Node, code: string, value: Value): Node {
    if (shared.leaf) return this.#putInLeaf(shared, code, value)
    const node = owned(shared, this.#owner)
    const at = childAt(node, code)
    const child = this.#put(node.items[at]!, code, value)
    node.items[at] = child
    const upper = overflow(child, this.#owner)
    if (upper) {
      node.codes.splice(at + 1, 0, upper.codes[0]!)
      node.items.splice(at + 1, 0, upper)
    }
    return node
  }

  #putInLeaf(shared: Leaf, code: string, value: Value): Leaf {
    const at = countBelow(shared, code)
    if (shared.codes[at] === code) {
      const leaf = owned(shared, this.#owner)
      leaf.items[at] = value
      return leaf
    }
    this.#size++
    if (shared.owner === this.#owner) {
      shared.codes.splice(at, 0, code)
      shared.items.splice(at, 0, value)
      return shared
    }
    // Copied and inserted in one: a copy that grows is copied again, with room for half as much to come.
    return new Leaf(this.#owner, shared.codes.toSpliced(at, 0, code), shared.items.toSpliced(at, 0, value))
  }

  #remove(shared: Node, code: string): Node {
    const node = owned(shared, this.#owner)
    if (node.leaf) {
      const at = countBelow(node, code)
      node.codes.splice(at, 1)
      node.items.splice(at, 1)
      return node
    }
    const at = childAt(node, code)
    const child = this.#remove(node.items[at]!, code)
    node.items[at] = child
    if (child.items.length < least && node.items.length > 1) refill(node, Math.max(0, at - 1), this.#owner)
    return node
  }
}

function find(root: Node, code: string): Found | undefined {
  let node = root
  while (!node.leaf) node = node.items[childAt(node, code)]!
  const at = countBelow(node, code)
  const own = node.codes[at]
  return own === code ? { code: own, value: node.items[at]! } : undefined
}

/** Splits a node that grew too wide and answers with its upper part. */
function overflow(node: Node, owner: Owner): Node | undefined {
  return node.items.length > width ? splitOff(node, (width >>> 1) + 1, owner) : undefined
}

/** Merges the children at `at` and after it, or shares their items evenly when one node cannot hold them. */
function refill(parent: Branch, at: number, owner: Owner): void {
  const left = owned(parent.items[at]!, owner)
  const right = parent.items[at + 1]!
  if (left.leaf && right.leaf) {
    left.codes.push(...right.codes)
    left.items.push(...right.items)
  } else if (!left.leaf && !right.leaf) {
    // What bounds the first child of a branch stands in the parent.
    left.codes.push(parent.codes[at + 1]!, ...right.codes.slice(1))
    left.items.push(...right.items)
  }
  parent.items[at] = left
  if (left.items.length <= width) {
    parent.codes.splice(at + 1, 1)
    parent.items.splice(at + 1, 1)
    return
  }
  const upper = splitOff(left, left.items.length >>> 1, owner)
  parent.codes[at + 1] = upper.codes[0]!
  parent.items[at + 1] = upper
}

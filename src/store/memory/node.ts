import type { Value } from '../store.ts'

/** Entries or children of a node at most. */
export const width = 64
/** A node that shrinks below this is merged with a neighbour or filled up from it. */
export const least = 16

/** Who may change a node in place: the edit that made it. */
export type Owner = object

/** The codes of keys in order, and the value under each. The keys themselves follow from their codes. */
export class Leaf {
  readonly leaf = true
  readonly owner: Owner | undefined
  readonly codes: string[]
  readonly items: Value[]

  constructor(owner: Owner | undefined, codes: string[], items: Value[]) {
    this.owner = owner
    this.codes = codes
    this.items = items
  }
}

/** Children in order. No code in `items[i]` is less than `codes[i]`, except that `codes[0]` bounds nothing. */
export class Branch {
  readonly leaf = false
  readonly owner: Owner | undefined
  readonly codes: string[]
  readonly items: Node[]

  constructor(owner: Owner | undefined, codes: string[], items: Node[]) {
    this.owner = owner
    this.codes = codes
    this.items = items
  }
}

/*
 * Nodes are made by constructors, not as literals. Of a literal the engine learns, while a large store is filled, that
 * what it makes lasts, and from then on makes it among the old objects. There each path that a write copies, though
 * soon replaced, keeps what it holds until everything is collected: 3 KB a write, and up to half of its time.
 */
export type Node = Leaf | Branch

/** The node itself when `owner` made it, otherwise a copy that belongs to `owner`. */
export function owned<N extends Node>(node: N, owner: Owner): N {
  if (node.owner === owner) return node
  const copy = node.leaf
    ? new Leaf(owner, node.codes.slice(), node.items.slice())
    : new Branch(owner, node.codes.slice(), node.items.slice())
  return copy as N
}

/** Takes the upper part of a node off, from `at` on, and answers with it. */
export function splitOff(node: Node, at: number, owner: Owner): Node {
  const codes = node.codes.splice(at)
  return node.leaf
    ? new Leaf(owner, codes, node.items.splice(at))
    : new Branch(owner, codes, node.items.splice(at))
}

/** Which child of a branch holds `code`, if any does. */
export function childAt(branch: Branch, code: string): number {
  const { codes } = branch
  let low = 1
  let high = codes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (codes[middle]! <= code) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** How many codes of a leaf are less than `code`. */
export function countBelow(leaf: Leaf, code: string): number {
  const { codes } = leaf
  let low = 0
  let high = codes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (codes[middle]! < code) low = middle + 1
    else high = middle
  }
  return low
}

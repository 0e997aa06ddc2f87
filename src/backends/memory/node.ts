import type { Value } from '../../store/store.ts'

/** Entries or children of a node at most. */
export const width = 64
/** A node that shrinks below this is merged with a neighbour or filled up from it. */
export const least = 16

/** Who may change a node in place: the edit that made it. */
export type Owner = object

/** The codes of keys in order, and the value under each. The keys themselves follow from their codes. */
export interface Leaf {
  readonly leaf: true
  readonly owner: Owner | undefined
  readonly codes: string[]
  readonly items: Value[]
}

/** Children in order. No code in `items[i]` is less than `codes[i]`, except that `codes[0]` bounds nothing. */
export interface Branch {
  readonly leaf: false
  readonly owner: Owner | undefined
  readonly codes: string[]
  readonly items: Node[]
}

export type Node = Leaf | Branch

export function leafOf(owner: Owner | undefined, codes: string[], items: Value[]): Leaf {
  return { leaf: true, owner, codes, items }
}

export function branchOf(owner: Owner | undefined, codes: string[], items: Node[]): Branch {
  return { leaf: false, owner, codes, items }
}

/** The node itself when `owner` made it, otherwise a copy that belongs to `owner`. */
export function owned<N extends Node>(node: N, owner: Owner): N {
  if (node.owner === owner) return node
  const copy = node.leaf
    ? leafOf(owner, node.codes.slice(), node.items.slice())
    : branchOf(owner, node.codes.slice(), node.items.slice())
  return copy as N
}

/** Takes the upper part of a node off, from `at` on, and answers with it. */
export function splitOff(node: Node, at: number, owner: Owner): Node {
  const codes = node.codes.splice(at)
  return node.leaf
    ? leafOf(owner, codes, node.items.splice(at))
    : branchOf(owner, codes, node.items.splice(at))
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

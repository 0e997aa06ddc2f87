import { endedError } from '../body.ts'
import type { Span } from '../range.ts'
import type { Entry } from '../store.ts'
import { codeOf, codeOfCut, keyAfter } from './code.ts'
import { type Branch, childAt, countBelow, type Leaf, type Node } from './node.ts'

interface Step {
  readonly branch: Branch
  at: number
}

/**
 * Yields the entries of a span in its order, as long as `access` has not ended. The nodes must not change
 * meanwhile.
 */
export function* walk(
  root: Node,
  span: Span,
  access: { readonly ended: boolean },
): Generator<Entry, void, undefined> {
  const { reverse, prefix = [] } = span
  const lower = span.lower && codeOfCut(span.lower)
  const upper = span.upper && codeOfCut(span.upper)
  const path: Step[] = []
  const prefixLength = codeOf(prefix).length
  let left = span.limit
  let leaf: Leaf | undefined = descend(root, reverse ? upper : lower, reverse, path)
  while (leaf) {
    const { codes, items } = leaf
    const from: number = lower === undefined ? 0 : countBelow(leaf, lower)
    const to: number = upper === undefined ? items.length : countBelow(leaf, upper)
    for (let done = 0; done < to - from; done++) {
      if (access.ended) throw endedError()
      const at = reverse ? to - 1 - done : from + done
      yield { key: keyAfter(prefix, prefixLength, codes[at]!), value: items[at]! }
      if (--left === 0) return
    }
    if (reverse ? from > 0 : to < items.length) return
    leaf = advance(path, reverse)
  }
}

/** Goes down to the leaf in which `code` falls; without one, to the outermost leaf. */
function descend(root: Node, code: string | undefined, reverse: boolean, path: Step[]): Leaf {
  let node = root
  while (!node.leaf) {
    const at: number = code !== undefined ? childAt(node, code) : reverse ? node.items.length - 1 : 0
    path.push({ branch: node, at })
    node = node.items[at]!
  }
  return node
}

/** Goes on to the next leaf, or to the one before it. */
function advance(path: Step[], reverse: boolean): Leaf | undefined {
  for (let step = path.pop(); step; step = path.pop()) {
    step.at += reverse ? -1 : 1
    const next = step.branch.items[step.at]
    if (next) {
      path.push(step)
      return descend(next, undefined, reverse, path)
    }
  }
  return undefined
}

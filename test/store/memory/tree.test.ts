import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codeOf } from '../../../src/store/memory/code.ts'
import { least, type Node, width } from '../../../src/store/memory/node.ts'
import { OrderedTree, TreeEdit } from '../../../src/store/memory/tree.ts'
import type { Span } from '../../../src/store/range.ts'

const everything: Span = {
  lower: undefined,
  upper: undefined,
  limit: Number.POSITIVE_INFINITY,
  reverse: false,
}
const always = { ended: false }

/** Runs of puts and removes; small numbers come close together, so that nodes fill up and run empty. */
const run = fc.record({
  from: fc.nat(3000),
  count: fc.nat(400),
  stride: fc.constantFrom(1, 1, -1, 7),
  remove: fc.boolean(),
})

function applyRuns(
  edit: TreeEdit,
  model: Map<number, number>,
  runs: readonly (typeof run extends fc.Arbitrary<infer R> ? R : never)[],
) {
  for (const { from, count, stride, remove } of runs) {
    for (let i = 0; i < count; i++) {
      const n = from + i * stride
      if (remove) {
        edit.remove(codeOf(['n', n]))
        model.delete(n)
      } else {
        edit.put(codeOf(['n', n]), i)
        model.set(n, i)
      }
    }
  }
}

function contentOf(tree: OrderedTree): [unknown, unknown][] {
  return Array.from(tree.walk(everything, always), ({ key, value }) => [key[1], value])
}

function sorted(model: Map<number, number>): [number, number][] {
  return [...model].sort(([a], [b]) => a - b)
}

/** The depth of a node, once everything below it was found in order and neither too wide nor nearly empty. */
function depthOf(node: Node, isRoot: boolean, from?: string, to?: string): number {
  expect(node.codes.length).toBe(node.items.length)
  expect(node.items.length).toBeLessThanOrEqual(width)
  if (!isRoot) expect(node.items.length).toBeGreaterThanOrEqual(least)
  if (node.leaf) {
    expect(node.codes).toEqual(node.codes.toSorted())
    if (from !== undefined && node.codes.length) expect(node.codes[0]! >= from).toBe(true)
    if (to !== undefined && node.codes.length) expect(node.codes.at(-1)! < to).toBe(true)
    return 1
  }
  const { items, codes } = node
  const depths = items.map((child, i) => depthOf(child, false, i === 0 ? from : codes[i], codes[i + 1] ?? to))
  expect(new Set(depths).size).toBe(1)
  return depths[0]! + 1
}

test('any series of changes gives what a map gives, in a balanced tree', () => {
  fc.assert(
    fc.property(fc.array(fc.array(run, { maxLength: 8 }), { maxLength: 5 }), (series) => {
      const model = new Map<number, number>()
      const versions: { tree: OrderedTree; content: [number, number][] }[] = []
      let tree = OrderedTree.empty
      for (const runs of series) {
        const edit = new TreeEdit(tree)
        applyRuns(edit, model, runs)
        tree = edit.tree()
        versions.push({ tree, content: sorted(model) })
      }
      // Later changes left the earlier versions alone.
      for (const { tree: version, content } of versions) {
        expect(contentOf(version)).toEqual(content)
        expect(version.size).toBe(content.length)
        depthOf(version.root, true)
      }
    }),
    { numRuns: 60 },
  )
})

test('two edits of one tree know nothing of each other', () => {
  const first = new TreeEdit(OrderedTree.empty)
  for (let n = 0; n < 1000; n++) first.put(codeOf(['n', n]), n)
  const base = first.tree()
  const [left, right] = [new TreeEdit(base), new TreeEdit(base)]
  for (let n = 0; n < 1000; n += 2) left.remove(codeOf(['n', n]))
  for (let n = 0; n < 1000; n++) right.put(codeOf(['n', n]), -n)
  // An edit whose tree was taken goes on without changing that tree.
  first.put(codeOf(['n', 5]), 'changed')
  expect(contentOf(left.tree())).toEqual(Array.from({ length: 500 }, (_, i) => [2 * i + 1, 2 * i + 1]))
  expect(right.tree().find(codeOf(['n', 7]))?.value).toBe(-7)
  expect(base.find(codeOf(['n', 5]))?.value).toBe(5)
  expect(base.find(codeOf(['n', 6]))?.value).toBe(6)
  expect(first.tree().find(codeOf(['n', 5]))?.value).toBe('changed')
})

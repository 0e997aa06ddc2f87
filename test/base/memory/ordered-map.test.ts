import fc from 'fast-check'
import { expect, test } from 'vitest'
import { least, type Node, width } from '../../../src/base/memory/node.ts'
import { MapEdit, OrderedMap } from '../../../src/base/memory/ordered-map.ts'

/** Ascending with the number, also below zero. */
const keyOf = (n: number) => String(n + 10_000).padStart(6, '0')
const numberOf = (key: string) => Number(key) - 10_000

/** Runs of puts and removes; small numbers come close together, so that nodes fill up and run empty. */
const run = fc.record({
  from: fc.nat(3000),
  count: fc.nat(400),
  stride: fc.constantFrom(1, 1, -1, 7),
  remove: fc.boolean(),
})

function applyRuns(
  edit: MapEdit<number>,
  model: Map<number, number>,
  runs: readonly (typeof run extends fc.Arbitrary<infer R> ? R : never)[],
) {
  for (const { from, count, stride, remove } of runs) {
    for (let i = 0; i < count; i++) {
      const n = from + i * stride
      if (remove) {
        edit.remove(keyOf(n))
        model.delete(n)
      } else {
        edit.put(keyOf(n), i)
        model.set(n, i)
      }
    }
  }
}

function contentOf<V>(map: OrderedMap<V>, lower?: number, upper?: number): [number, V][] {
  const bound = (n: number | undefined) => (n === undefined ? undefined : keyOf(n))
  return Array.from(map.entries(bound(lower), bound(upper)), ([key, value]) => [numberOf(key), value])
}

/** The numbers from `lower` up to `upper`, from the last to the first. */
function reversed(map: OrderedMap<number>, lower: number, upper: number): number[] {
  const found: number[] = []
  const cursor = map.leaves(keyOf(lower), keyOf(upper), true)
  while (cursor.next()) {
    for (let at = cursor.to - 1; at >= cursor.from; at--) found.push(numberOf(cursor.leaf!.keys[at]!))
  }
  return found
}

function sorted(model: Map<number, number>): [number, number][] {
  return [...model].sort(([a], [b]) => a - b)
}

/** The depth of a node, once everything below it was found in order and neither too wide nor nearly empty. */
function depthOf(node: Node<unknown>, isRoot: boolean, from?: string, to?: string): number {
  expect(node.keys.length).toBe(node.items.length)
  expect(node.items.length).toBeLessThanOrEqual(width)
  if (!isRoot) expect(node.items.length).toBeGreaterThanOrEqual(least)
  if (node.leaf) {
    expect(node.keys).toEqual(node.keys.toSorted())
    if (from !== undefined && node.keys.length) expect(node.keys[0]! >= from).toBe(true)
    if (to !== undefined && node.keys.length) expect(node.keys.at(-1)! < to).toBe(true)
    return 1
  }
  const { items, keys } = node
  const depths = items.map((child, i) => depthOf(child, false, i === 0 ? from : keys[i], keys[i + 1] ?? to))
  expect(new Set(depths).size).toBe(1)
  return depths[0]! + 1
}

test('any series of changes gives what a map gives, between any bounds, in a balanced tree', () => {
  fc.assert(
    fc.property(fc.array(fc.array(run, { maxLength: 8 }), { maxLength: 5 }), (series) => {
      const model = new Map<number, number>()
      const versions: { map: OrderedMap<number>; content: [number, number][] }[] = []
      let map: OrderedMap<number> = OrderedMap.empty
      for (const runs of series) {
        const edit = new MapEdit(map)
        applyRuns(edit, model, runs)
        map = edit.map()
        versions.push({ map, content: sorted(model) })
      }
      // Later changes left the earlier versions alone.
      for (const { map: version, content } of versions) {
        expect(contentOf(version)).toEqual(content)
        expect(version.size).toBe(content.length)
        const within = content.filter(([n]) => n >= 500 && n < 2500)
        expect(contentOf(version, 500, 2500)).toEqual(within)
        expect(reversed(version, 500, 2500)).toEqual(within.map(([n]) => n).reverse())
        depthOf(version.root, true)
      }
    }),
    { numRuns: 60 },
  )
})

test('two edits of one map know nothing of each other', () => {
  const first = new MapEdit<number | string>(OrderedMap.empty)
  for (let n = 0; n < 1000; n++) first.put(keyOf(n), n)
  const base = first.map()
  const [left, right] = [new MapEdit(base), new MapEdit(base)]
  for (let n = 0; n < 1000; n += 2) left.remove(keyOf(n))
  for (let n = 0; n < 1000; n++) right.put(keyOf(n), -n)
  // An edit whose map was taken goes on without changing that map.
  first.put(keyOf(5), 'changed')
  expect(contentOf(left.map())).toEqual(Array.from({ length: 500 }, (_, i) => [2 * i + 1, 2 * i + 1]))
  expect(right.map().find(keyOf(7))?.value).toBe(-7)
  expect(base.find(keyOf(5))?.value).toBe(5)
  expect(base.find(keyOf(6))?.value).toBe(6)
  expect(first.map().find(keyOf(5))?.value).toBe('changed')
})

import { createHook } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { expect, test } from 'vitest'
import type { Value } from '../../../../src/base/store/store.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../../src/tabularium/index.ts'

/* What a short operation costs, counted and not timed. */

const calls = 100

test('an operation inside of a transaction makes few promises', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.declareTable({ id: ['there'] })
  const inside = (operation: 'declareTable' | 'describeTable') =>
    catalog.transaction(async (tx) => {
      const before = promises
      for (let i = 0; i < calls; i++) {
        if (operation === 'declareTable') await tx.declareTable({ id: [`t${i}`] })
        else await tx.describeTable({ id: ['there'] })
      }
      return (promises - before) / calls
    })
  let promises = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises++
    },
  }).enable()
  try {
    expect(await inside('declareTable')).toBeLessThanOrEqual(14)
    expect(await inside('describeTable')).toBeLessThanOrEqual(10)
  } finally {
    hook.disable()
  }
})

/** Whether V8 knows two objects by one shape. It reads the members of many shapes more slowly. */
function shapesAreSame(): (a: unknown, b: unknown) => boolean {
  setFlagsFromString('--allow-natives-syntax')
  try {
    return new Function('a', 'b', 'return %HaveSameMap(a, b)') as ReturnType<typeof shapesAreSame>
  } finally {
    setFlagsFromString('--no-allow-natives-syntax')
  }
}

test('answers of one operation share one shape, and so do records of one kind', async () => {
  const isSame = shapesAreSame()
  const store = memoryStore()
  await using catalog = await openCatalog({ store, content: memoryContent() })
  const first = await catalog.declareTable({ id: ['a'] })
  const second = await catalog.declareTable({ id: ['b'] })
  expect(isSame(first, second)).toBe(true)
  for (const name of ['c', 'd']) await catalog.createTable({ id: [name], data: [{ k: 1 }] })
  const records = await store.read((reader) =>
    [...reader.range({})].reduce<Map<string, Value[]>>((found, { value }) => {
      if (typeof value !== 'object' || Array.isArray(value)) return found
      const members = Object.keys(value).join()
      return found.set(members, [...(found.get(members) ?? []), value])
    }, new Map()),
  )
  const shared = [...records].filter(([, values]) => values.length > 1)
  expect(shared.length).toBeGreaterThan(1)
  for (const [members, values] of shared)
    for (const value of values.slice(1)) expect(isSame(value, values[0]), members).toBe(true)
})

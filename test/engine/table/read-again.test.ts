import { expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { contentWith } from '../../support/contents.ts'

/** A content whose first answers for each path are damaged, as many as `times` says. */
function damaging(content: Content, times: number): Content {
  const damaged = new Map<string, number>()
  return contentWith(content, {
    async get(path, range) {
      const bytes = (await content.get(path, range))?.slice()
      const before = damaged.get(path) ?? 0
      if (bytes === undefined || bytes.length === 0 || before === times) return bytes
      damaged.set(path, before + 1)
      bytes[bytes.length >> 1]! ^= 1
      return bytes
    },
  })
}

// The first one is read as a whole, the second one column by column.
test.each([[10], [40_000]])('%i rows that were damaged on their way are read once more', async (count) => {
  const content = memoryContent()
  const rows = Array.from({ length: count }, (_, x) => ({ x, text: `row ${x % 7}` }))
  const writer = tableEngine({ content })
  const { manifest } = await writer.create('t/', await toArrowTable(rows))
  const count5 = async (from: Content) => {
    const engine = tableEngine({ content: from })
    return engine.countRows(await engine.open('t/', manifest), { predicate: "text = 'row 5' AND x > 5" })
  }
  const there = await count5(content)
  expect(there).toBe(Math.floor((count - 5 + 6) / 7) - 1)
  expect(await count5(damaging(content, 1))).toBe(there)
  await refused(count5(damaging(content, Infinity)), 'InvalidTableState')

  const checked = async (from: Content) => {
    const problems: string[] = []
    for await (const { path, problem } of tableEngine({ content: from }).check('t/', [manifest])) {
      if (problem) problems.push(path)
    }
    return problems.length
  }
  expect(await checked(damaging(content, 1))).toBe(0)
  expect(await checked(damaging(content, Infinity))).toBeGreaterThan(0)
  expect(await checked(content)).toBe(0)
})

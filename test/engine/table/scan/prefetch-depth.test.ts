import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import { contentWith } from '../../../support/contents.ts'
import { turns } from '../../../support/turns.ts'

/** How many parts of objects are read at once at most, when each read takes some turns as over a network. */
async function readAtOnce(predicate: string, bytesOfText: number): Promise<number> {
  const content = memoryContent()
  const from = tableEngine({ content, fragmentRows: 64 })
  const text = 'x'.repeat(bytesOfText / 64)
  const rows = Array.from({ length: 64 * 12 }, (_, n) => ({ n, text: `${text}${n}` }))
  const { manifest } = await from.create('t/', await toArrowTable(rows as never))
  let now = 0
  let most = 0
  const slow = async <T>(work: () => Promise<T>): Promise<T> => {
    most = Math.max(most, ++now)
    await turns()
    now--
    return work()
  }
  const far = contentWith(content, {
    get: (path, range) => slow(() => content.get(path, range)),
    getRanges: (path, ranges) => slow(() => Promise.all(ranges.map((range) => content.get(path, range)))),
  })
  const engine = tableEngine({ content: far, cacheBytes: 0 })
  await engine.countRows(await engine.open('t/', manifest), { predicate })
  return most
}

test('as many fragments are read at once as the wanted columns allow, whatever lies beside them', async () => {
  const bytes = 8 << 20
  expect(await readAtOnce('n % 2 = 1', bytes)).toBe(12)
  const large = await readAtOnce("text > 'a' AND n % 2 = 1", bytes)
  expect(large).toBeGreaterThanOrEqual(6)
  expect(large).toBeLessThanOrEqual(9)
})

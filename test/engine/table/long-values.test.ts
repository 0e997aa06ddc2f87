import { expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { decodeArrow, tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import { limitEach } from '../../support/time-limit.ts'

// It changes columns of long texts.
limitEach(60)

/*
 * Values that are long are made a few rows at a time. What comes of it must be the same.
 */

const rows = Array.from({ length: 300 }, (_, id) => ({ id, text: `${id},`, n: id / 2 }))
const long = 'repeat(text, 40000)'

async function setUp() {
  const engine = tableEngine({ content: memoryContent() })
  const table = await toArrowTable(rows)
  let base = await engine.create('t', table)
  // The first row that is left is not at a word's beginning.
  base = (await engine.deleteRows('id < 5 OR id = 40').apply(base)).snapshot
  const count = (snapshot: typeof base, predicate: string) => engine.countRows(snapshot, { predicate })
  return { engine, base, count }
}

test.each([
  { predicate: undefined, updated: 294 },
  { predicate: 'id % 7 <> 3', updated: 252 },
])('an update to long texts gives each row its own: $predicate', async ({ predicate, updated }) => {
  const { engine, base, count } = await setUp()
  const change = await engine.updateRows(base, {
    updates: [
      ['n', 'id * 3'],
      ['text', long],
    ],
    predicate,
  })
  const { snapshot, affected } = await change.apply(base)
  expect(affected).toBe(updated)
  expect(snapshot.rows).toBe(294)
  expect(
    await count(
      snapshot,
      "text = repeat(concat(CAST(CAST(id AS int) AS string), ','), 40000) AND n = id * 3",
    ),
  ).toBe(updated)
  const others = await engine.queryRows(snapshot, { columns: ['id'] })
  const ids = (await decodeArrow(others)).toArray().map(({ id }) => Number(id))
  const isUpdated = (id: number) => predicate === undefined || id % 7 !== 3
  const left = rows.map(({ id }) => id).filter((id) => id >= 5 && id !== 40)
  expect(ids).toEqual([...left.filter((id) => !isUpdated(id)), ...left.filter(isUpdated)])
})

test('a column of long texts has the text of each row', async () => {
  const { engine, base, count } = await setUp()
  const { snapshot } = await engine.addColumns([{ name: 'more', expression: long }]).apply(base)
  expect(await count(snapshot, 'more = repeat(text, 40000)')).toBe(294)
})

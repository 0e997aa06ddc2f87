import { expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { compileExpression } from '../../../src/engine/predicate/index.ts'
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

test.each(['repeat(text, 100)', "concat('x', text)", "'a constant of many bytes'", 'make_array(text, text)'])(
  'an expression gives the first rows up to so many bytes: %s',
  async (text) => {
    const { schema, children } = await toArrowTable(rows)
    const expression = compileExpression(text, schema)
    const given = { length: rows.length, columns: children.map(({ data }) => data[0]!) } as never
    const whole = expression.values(given, 0, rows.length)
    const none = expression.values(given, 0, rows.length, { mostBytes: 2 ** 30 })
    expect(none.length).toBe(rows.length)
    const some = expression.values(given, 0, rows.length, { mostBytes: 1 })
    expect(some.length).toBeGreaterThan(0)
    expect(Array.from(some).map(String)).toEqual(Array.from(whole).slice(0, some.length).map(String))
  },
)

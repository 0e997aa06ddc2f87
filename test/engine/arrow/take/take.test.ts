import type { Table } from '@uwdata/flechette'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import { encodeArrow, joinParts } from '../../../../src/engine/arrow/ipc/encode.ts'
import { assemble, type Piece } from '../../../../src/engine/arrow/take/take.ts'
import { fixture, plain } from '../fixtures.ts'

const [types, dictionaries] = await Promise.all([
  decodeArrow(fixture('types.arrows')),
  decodeArrow(fixture('dictionaries.arrows')),
])

/** Runs of rows in one of a table's batches. */
const pieces = fc.array(
  fc.record({
    batch: fc.nat(2),
    cuts: fc.uniqueArray(fc.nat(5), { maxLength: 6 }).map((cuts) => {
      const sorted = cuts.sort((a, b) => a - b)
      return sorted.length % 2 === 0 ? sorted : sorted.slice(1)
    }),
  }),
  { maxLength: 5 },
)

function take(
  table: Table,
  column: number,
  chosen: readonly { batch: number; cuts: readonly number[] }[],
  isTyped: boolean,
) {
  const { data, type } = table.children[column]!
  const expected: unknown[] = []
  const all: Piece[] = chosen.map(({ batch, cuts }) => {
    const source = data[batch]!
    // Few runs are plain arrays, and many are not.
    const runs = Int32Array.from(cuts, (cut) => Math.min(cut, source.length))
    for (let i = 0; i < runs.length; i += 2) {
      for (let row = runs[i]!; row < runs[i + 1]!; row++) expected.push(plain(source.at(row)))
    }
    return { batch: source, runs: isTyped ? runs : [...runs] }
  })
  return { batch: assemble(type, all), expected }
}

test.each([
  ['every type', types],
  ['changing dictionaries', dictionaries],
])('rows taken are the rows there were: %s', async (_name, table) => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.boolean(), async (chosen, isTyped) => {
      const taken = table.children.map((_, column) => take(table, column, chosen, isTyped))
      for (const [column, { batch, expected }] of taken.entries()) {
        expect(plain(Array.from(batch)), String(table.names[column])).toEqual(expected)
      }
      // Written and read back, every buffer is checked.
      const bytes = joinParts(
        encodeArrow(
          table.schema,
          taken.map(({ batch }) => [batch]),
        ),
      )
      const again = await decodeArrow(bytes)
      for (const [column, { expected }] of taken.entries()) {
        expect(plain(Array.from(again.children[column]!)), String(table.names[column])).toEqual(expected)
      }
    }),
    { numRuns: 60 },
  )
})

test('a whole batch is not copied, nor are the values of a slice of numbers', () => {
  const batch = types.children[types.names.indexOf('u64')]!.data[0]!
  expect(assemble(batch.type, [{ batch, runs: [0, batch.length] }])).toBe(batch)
  const slice = assemble(batch.type, [{ batch, runs: [2, 4] }])
  expect(slice.values.buffer).toBe(batch.values.buffer)
})

import { field, int32, list } from '@uwdata/flechette'
import { expect, test } from 'vitest'
import { addRow, noRows } from '../../../../src/engine/arrow/bitmap.ts'
import { columnBuilder } from '../../../../src/engine/predicate/evaluate/column-builder.ts'
import { Frame } from '../../../../src/engine/predicate/evaluate/frame.ts'
import { scalarAt } from '../../../../src/engine/predicate/evaluate/scalar.ts'

test('a column of lists is not full before it has a row', () => {
  // A busy machine evaluates slices of few rows, of which none may be needed.
  const type = list(field('item', int32()))
  const column = columnBuilder(field('x', type), 32, 1)
  const frame = new Frame()
  frame.moveTo({ length: 32, columns: [] }, 0, 32)
  const values = Array.from({ length: 32 }, (_, i) => [i])
  const vector = { kind: 'scalars' as const, type, valid: null, values }
  const need = noRows(32)
  column.add(vector, frame, need, 'next')
  expect([column.isFull, column.rows]).toEqual([false, 0])
  addRow(need, 5)
  column.add(vector, frame, need, 'next')
  expect([column.isFull, column.rows]).toEqual([true, 1])
  expect(scalarAt(column.done(column.rows), 0)).toEqual([5])
  frame.done()
})

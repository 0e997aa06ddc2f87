import { field, int8, int64, list, struct, Type } from '@uwdata/flechette'
import { expect, test } from 'vitest'
import { makeBatch } from '../../../src/engine/arrow/batch.ts'
import { fitting } from '../../../src/engine/arrow/fit.ts'

const length = 2
const item = field('item', int64())
const shared = {
  length,
  children: [makeBatch(int64(), { length, values: BigInt64Array.of(1000n, 7n) })],
}
const wanted = field('s', struct([field('a', list(field('item', int8())))]))

test.each([
  ['a list', makeBatch(list(item), { ...shared, offsets: Int32Array.of(0, 1, 2) })],
  [
    'a list view',
    makeBatch({ typeId: Type.ListView, children: [item], offsets: Int32Array } as never, {
      ...shared,
      offsets: Int32Array.of(0, 1),
      sizes: Int32Array.of(1, 1),
    }),
  ],
])('below a null struct, %s is never refused: it holds no value', (_, child) => {
  const type = struct([field('a', child.type)])
  const batch = makeBatch(type, { length, nullCount: 1, validity: Uint8Array.of(2), children: [child] })
  const convert = fitting(wanted, field('s', type), { castBytes: 0 })!
  expect([0, 1].map((i) => JSON.stringify(convert(batch).at(i)))).toEqual(['null', '{"a":{"0":7}}'])
})

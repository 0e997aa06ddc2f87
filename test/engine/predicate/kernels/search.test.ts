import { field, utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeBatch } from '../../../../src/engine/arrow/batch.ts'
import { allRows, hasRow, rowsIn } from '../../../../src/engine/arrow/bitmap.ts'
import { evaluator } from '../../../../src/engine/predicate/evaluate/index.ts'
import { kernels } from '../../../../src/engine/predicate/kernels/index.ts'
import { planPredicate } from '../../../../src/engine/predicate/plan/filter.ts'

/** Few characters, so that patterns match often, across the ends of texts, too. */
const letters = ['a', 'a', 'b', '9', '1', 'ä', 'á', '€', '😀', '%', '_', "'", '\\']
/** Text beside `_`, of one byte or of more. */
const around = fc.constantFrom('aäb', '9€1', 'a😀1', 'a1b', 'b')
const text = fc.oneof(
  fc.array(around, { maxLength: 3 }).map((list) => list.join('')),
  fc.array(fc.constantFrom(...letters), { maxLength: 12 }).map((list) => list.join('')),
  fc.array(fc.constantFrom('a', 'b', '9', '1'), { maxLength: 40 }).map((list) => list.join('')),
  fc.array(around, { maxLength: 3 }).map((list) => list.join('')),
)
const literal = fc.constantFrom('a', 'b', '9', '1', 'ä', 'á', '€', '😀', '\\%', '\\_', "''", '\\\\')
const segment = fc.oneof(
  fc.array(fc.oneof(literal, literal, fc.constant('_')), { maxLength: 7 }),
  fc.array(fc.constantFrom('a', 'b'), { maxLength: 24 }),
  fc.constantFrom(['a_b'], ['9_1'], ['a_1b'], ['ba_b']),
)
const pattern = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map((list) => list.map((part) => part.join('')).join('%'))
const within = fc.oneof(
  pattern,
  segment.map((part) => `%${part.join('')}%`),
)

const schema = { fields: [field('s', utf8(), true)], metadata: null } as never

function batchOf(texts: readonly (string | null)[], before: string) {
  const validity = new Uint8Array(Math.ceil(texts.length / 8))
  // Bytes before the first text belong to none, and so may those of a null.
  const parts = [Buffer.from(before)]
  const offsets = new Int32Array(texts.length + 1).fill(parts[0]!.length)
  for (const [i, text] of texts.entries()) {
    if (text !== null) validity[i >> 3]! |= 1 << (i & 7)
    parts.push(Buffer.from(text ?? 'a91bä'))
    offsets[i + 1] = offsets[i]! + parts.at(-1)!.length
  }
  const nullCount = texts.filter((text) => text === null).length
  const values = new Uint8Array(Buffer.concat(parts))
  return makeBatch(utf8(), { length: texts.length, nullCount, validity, offsets, values })
}

test('LIKE finds the same texts at once as one after the other', () => {
  const found = new Set<number>()
  fc.assert(
    fc.property(
      fc.array(fc.option(text, { freq: 8 }), { minLength: 1, maxLength: 90, size: 'max' }),
      fc.constantFrom('', 'ab91', 'a'),
      within,
      fc.constantFrom('LIKE', 'NOT LIKE', 'ILIKE'),
      fc.option(fc.constantFrom(2, 3, 40)),
      (texts, before, like, operator, gap) => {
        const plan = planPredicate(`s ${operator} '${like}'`, schema, () => 0)
        const rows = { length: texts.length, columns: [batchOf(texts, before)] }
        const live = gap === null ? undefined : allRows(texts.length)
        if (live && gap !== null)
          for (let row = 0; row < texts.length; row++)
            if (row % gap !== 0 && hasRow(live, row)) live[row >>> 5]! &= ~(1 << (row & 31))
        const [fast, slow] = [kernels, []].map((some) => [
          ...rowsIn(evaluator(plan, some).select(rows, 0, rows.length, live)),
        ])
        found.add(slow!.length)
        expect(fast).toEqual(slow)
      },
    ),
    { numRuns: 3000 },
  )
  expect(found.size).toBeGreaterThan(20)
})

test('LIKE takes texts of few bytes anywhere in memory', () => {
  const plan = planPredicate("s LIKE '%a_b%'", schema, () => 0)
  for (const before of ['', 'a', 'ab', 'ab9', 'ab91']) {
    for (const text of ['', 'a', 'ab', 'a1b', 'ä', 'aäb', 'aaaab']) {
      const rows = { length: 1, columns: [batchOf([text], before)] }
      const found = [...rowsIn(evaluator(plan, kernels).select(rows, 0, 1))]
      expect(found).toEqual(/a.b/u.test(text) ? [0] : [])
    }
  }
})

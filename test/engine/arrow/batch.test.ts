import { IntervalUnit, interval } from '@uwdata/flechette'
import { Dictionary, Int32, LargeUtf8, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeBatch } from '../../../src/engine/arrow/batch.ts'
import { decodeArrow, plainRows } from '../../../src/engine/table/index.ts'

test('texts are read with every character, a byte order mark at their start among them', async () => {
  const text = fc.string({ unit: fc.constantFrom('\ufeff', 'a', 'é', '𝒳', '\0'), maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { minLength: 1, maxLength: 20 }), async (texts) => {
      const given = new Table({
        plain: vectorFromArray(texts, new Utf8()),
        large: vectorFromArray(texts, new LargeUtf8()),
        encoded: vectorFromArray(texts, new Dictionary(new Utf8(), new Int32())),
      })
      const table = await decodeArrow(tableToIPC(given, 'stream'))
      for (const name of ['plain', 'large', 'encoded'])
        expect(Array.from(table.getChild(name)!), name).toEqual(texts)
      const rows = texts.map((text) => ({ plain: text, large: text, encoded: text }))
      expect([...plainRows(table)]).toEqual(rows)
    }),
  )
})

test('intervals are read, however many nanoseconds they have', () => {
  const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
  const nanos = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  fc.assert(
    fc.property(fc.array(fc.tuple(int, int, nanos), { minLength: 1, maxLength: 5 }), (given) => {
      const values = new Uint8Array(given.length * 16)
      const view = new DataView(values.buffer)
      for (const [i, [months, days, rest]] of given.entries()) {
        view.setInt32(i * 16, months, true)
        view.setInt32(i * 16 + 4, days, true)
        view.setBigInt64(i * 16 + 8, rest, true)
      }
      const batch = makeBatch(interval(IntervalUnit.MONTH_DAY_NANO), { length: given.length, values })
      expect(Array.from(batch)).toEqual(
        given.map(([months, days, rest]) => Float64Array.of(months, days, Number(rest))),
      )
    }),
  )
})

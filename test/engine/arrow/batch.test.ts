import { IntervalUnit, interval } from '@uwdata/flechette'
import {
  Bool,
  Dictionary,
  Field,
  Int32,
  LargeUtf8,
  List,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addBytesOfEach, bytesOfRow, makeBatch } from '../../../src/engine/arrow/batch.ts'
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

test('the bytes of rows are the same for each and for all of them', async () => {
  const row = fc.record({
    text: fc.option(fc.string({ unit: 'grapheme', maxLength: 9 })),
    number: fc.option(fc.integer({ min: -9, max: 9 })),
    flag: fc.option(fc.boolean()),
    list: fc.option(fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 })),
  })
  const cut = fc.tuple(fc.nat(20), fc.nat(20))
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), cut, async (rows, [from, to]) => {
      const column = <T>(of: (row: (typeof rows)[number]) => T) => rows.map(of)
      const list = new List(new Field('item', new Utf8(), true))
      const struct = new Struct([new Field('text', new Utf8(), true), new Field('list', list, true)])
      const given = new Table({
        text: vectorFromArray(
          column(({ text }) => text),
          new Utf8(),
        ),
        large: vectorFromArray(
          column(({ text }) => text),
          new LargeUtf8(),
        ),
        encoded: vectorFromArray(
          column(({ text }) => text),
          new Dictionary(new Utf8(), new Int32()),
        ),
        number: vectorFromArray(
          column(({ number }) => number),
          new Int32(),
        ),
        flag: vectorFromArray(
          column(({ flag }) => flag),
          new Bool(),
        ),
        list: vectorFromArray(
          column(({ list }) => list),
          list,
        ),
        struct: vectorFromArray(
          column(({ text, list }) => ({ text, list })),
          struct,
        ),
      })
      const table = await decodeArrow(tableToIPC(given, 'stream'))
      const [start, end] = [Math.min(from, rows.length), Math.min(to, rows.length)].sort((a, b) => a - b)
      for (const { data } of table.children) {
        const sizes = new Float64Array(rows.length + 1).fill(1)
        addBytesOfEach(data[0]!, { start: start!, end: end! }, sizes, 1)
        const wanted = rows.slice(start, end).map((_, i) => 1 + bytesOfRow(data[0]!, start! + i))
        expect([...sizes.subarray(1, 1 + wanted.length)]).toEqual(wanted)
        expect(sizes[0]).toBe(1)
        expect([...sizes.subarray(1 + wanted.length)].every((size) => size === 1)).toBe(true)
      }
    }),
  )
})

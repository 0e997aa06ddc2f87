import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DataType, dictionary, int32, interval, list, struct } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type AnyBatch, makeBatch, makeColumn } from '../../src/engine/arrow/batch.ts'
import { encodeArrow, joinParts } from '../../src/engine/arrow/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { run } from './run.ts'

type Interval = readonly [months: number, days: number, rest: bigint]

const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const nanos = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const given = fc.tuple(fc.option(fc.tuple(int, int, nanos)), int, fc.tuple(int, int))

/** The bytes of each unit, as the format of Arrow has them, and the text that the oracle expects. */
function columnsOf(rows: readonly (readonly [Interval | null, number, readonly [number, number]])[]) {
  const length = rows.length
  const view = new DataView(new ArrayBuffer(length * 16))
  const validity = new Uint8Array(Math.ceil(length / 8))
  for (const [i, [value]] of rows.entries()) {
    if (value === null) continue
    validity[i >> 3]! |= 1 << (i & 7)
    view.setInt32(i * 16, value[0], true)
    view.setInt32(i * 16 + 4, value[1], true)
    view.setBigInt64(i * 16 + 8, value[2], true)
  }
  const nullCount = rows.filter(([value]) => value === null).length
  const long = makeBatch(interval(2), { length, nullCount, validity, values: new Uint8Array(view.buffer) })
  const months = makeBatch(interval(0), { length, values: Int32Array.from(rows, ([, one]) => one) })
  const days = makeBatch(interval(1), { length, values: Int32Array.from(rows.flatMap(([, , two]) => two)) })
  const ends = Int32Array.from({ length: length + 1 }, (_, i) => i)
  const each = Int32Array.from({ length }, (_, i) => i)
  const text = rows.map(([value]) => (value === null ? 'null' : `[${value.join(',')}]`))
  const columns: readonly (readonly [AnyBatch, readonly string[]])[] = [
    [long, text],
    [months, rows.map(([, one]) => String(one))],
    [days, rows.map(([, , two]) => `[${two.join(',')}]`)],
    [
      makeBatch(list(interval(2)), { length, offsets: ends, children: [long] }),
      text.map((one) => `[${one}]`),
    ],
    [makeBatch(struct({ a: interval(2) }), { length, children: [long] }), text.map((one) => `{"a":${one}}`)],
    [
      makeBatch(dictionary(interval(2), int32()), {
        length,
        values: each,
        dictionary: makeColumn(interval(2), [long]),
      }),
      text,
    ],
  ]
  return columns
}

it('prints intervals of all units with all of their digits, wherever they are', async () => {
  const folder = await freshFolder()
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(given, { minLength: 1, maxLength: 12 }), async (rows) => {
      const columns = columnsOf(rows)
      const fields = columns.map(([{ type }], i) => ({
        name: `c${i}`,
        type: type as DataType,
        nullable: true,
        metadata: null as never,
      }))
      const schema = { version: 4 as const, endianness: 0 as const, fields, metadata: null as never }
      const [file, catalog] = [join(folder, `${count}.arrow`), join(folder, `${count++}`)]
      await writeFile(
        file,
        joinParts(
          encodeArrow(
            schema,
            columns.map(([batch]) => [batch]),
          ),
        ),
      )
      expect(await run(['create', catalog, 't', '--data', file])).toMatchObject({ code: 0, err: '' })
      const expected = rows.map(
        (_, row) => `{${columns.map(([, text], i) => `"c${i}":${text[row]}`).join(',')}}\n`,
      )
      for (const words of [['query'], ['head', '-n', '100']]) {
        const [command, ...more] = words
        const { code, out, err } = await run([command!, catalog, 't', ...more])
        expect({ code, out, err }).toEqual({ code: 0, out: expected.join(''), err: '' })
      }
    }),
    { numRuns: 10 },
  )
})

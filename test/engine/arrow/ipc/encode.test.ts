import { type Table, tableFromIPC } from 'apache-arrow'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import { encodeArrow, FileLayout, joinParts } from '../../../../src/engine/arrow/ipc/encode.ts'
import { readBlock, readFooter } from '../../../../src/engine/arrow/ipc/message.ts'
import { hasDictionary } from '../../../../src/engine/arrow/layout.ts'
import { assemble } from '../../../../src/engine/arrow/take/take.ts'
import { schemaDifference } from '../../../../src/engine/table/index.ts'
import { fixture, plain } from '../fixtures.ts'

const { schema } = await decodeArrow(fixture('types.arrows'))

test('a file without rows names a batch in its footer, whatever its columns', async () => {
  const none = schema.fields.map(() => [])
  const bytes = joinParts(encodeArrow(schema, none))
  expect(readFooter(bytes).records).toHaveLength(1)
  const table = await decodeArrow(bytes)
  expect(table.numRows).toBe(0)
  expect(schemaDifference(schema, table.schema)).toBeUndefined()
})

test('a stream without rows has no batch', async () => {
  const bytes = joinParts(
    encodeArrow(
      schema,
      schema.fields.map(() => []),
      'stream',
    ),
  )
  const table = await decodeArrow(bytes)
  expect([table.numRows, table.children[0]!.data.length]).toEqual([0, 0])
})

const types = await decodeArrow(fixture('types.arrows'))

/** The columns without dictionaries. */
const known = types.schema.fields.flatMap(({ type }, i) => (hasDictionary(type) ? [] : [i]))

/** Some of the columns, and rows of each batch as parts of the batches that there are. */
const chosen = fc.record({
  columns: fc.uniqueArray(fc.constantFrom(...known), { minLength: 1, maxLength: 12 }),
  batches: fc.array(
    fc.array(fc.record({ batch: fc.nat(2), start: fc.nat(5), rows: fc.nat(5) }), { maxLength: 3 }),
    { maxLength: 4 },
  ),
})

test('files of a layout hold what files of flechette hold, with the same messages', async () => {
  await fc.assert(
    fc.asyncProperty(chosen, async ({ columns, batches }) => {
      const schema = { ...types.schema, fields: columns.map((i) => types.schema.fields[i]!) }
      const made = batches.map((pieces) =>
        columns.map((column) => {
          const { data, type } = types.children[column]!
          const parts = pieces.map(({ batch, start, rows }) => {
            const { length } = data[batch]!
            const first = Math.min(start, length)
            return { batch: data[batch]!, runs: [first, Math.min(first + rows, length)] }
          })
          return assemble(type, parts)
        }),
      )
      const layout = new FileLayout(schema)
      const bytes = joinParts(layout.encode(made))
      const byColumn = columns.map((_, i) => made.map((batch) => batch[i]!))
      const expected = joinParts(encodeArrow(schema, byColumn))
      const [ours, theirs] = [bytes, expected].map((file) =>
        readFooter(file).records.map((block) => readBlock(file, block)),
      )
      expect(ours!.map(({ message }) => message)).toEqual(theirs!.map(({ message }) => message))
      expect(ours!.map(({ body }) => [...body])).toEqual(theirs!.map(({ body }) => [...body]))
      const [read, again] = await Promise.all([decodeArrow(bytes), decodeArrow(expected)])
      expect(schemaDifference(read.schema, again.schema)).toBeUndefined()
      for (const [i, column] of read.children.entries())
        expect(plain(Array.from(column))).toEqual(plain(Array.from(again.children[i]!)))
    }),
    { numRuns: 150 },
  )
})

test('another library reads files of a layout, of no batch, one and several', () => {
  const names = ['i8', 'u64', 'f64', 'bool', 's', 'bin', 'l', 'st', 'du', 'null']
  const columns = names.map((name) => types.names.indexOf(name)).filter((i) => i >= 0)
  expect(columns.length).toBeGreaterThan(3)
  const fields = columns.map((i) => types.schema.fields[i]!)
  const layout = new FileLayout({ ...types.schema, fields })
  for (const count of [0, 1, 3]) {
    const made = Array.from({ length: count }, (_, b) => columns.map((i) => types.children[i]!.data[b % 2]!))
    const bytes = joinParts(layout.encode(made))
    const read: Table = tableFromIPC(bytes)
    const expected = tableFromIPC(
      joinParts(
        encodeArrow(
          { ...types.schema, fields },
          columns.map((_, i) => made.map((b) => b[i]!)),
        ),
      ),
    )
    expect(read.toArray().map(String)).toEqual(expected.toArray().map(String))
    // An answer belongs to its reader, who may write into it.
    bytes.fill(0)
  }
})

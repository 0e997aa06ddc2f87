import { expect, test } from 'vitest'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import { encodeArrow, joinParts } from '../../../../src/engine/arrow/ipc/encode.ts'
import { readFooter } from '../../../../src/engine/arrow/ipc/message.ts'
import { schemaDifference } from '../../../../src/engine/table/index.ts'
import { fixture } from '../fixtures.ts'

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

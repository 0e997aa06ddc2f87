import { Dictionary, Int32, LargeUtf8, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow'
import fc from 'fast-check'
import { expect, test } from 'vitest'
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

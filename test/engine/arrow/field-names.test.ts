import { type Field, field, int32 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { indexInAsciiCase, indexOfName, onlyIndexInAnyCase } from '../../../src/engine/arrow/field-names.ts'

/** Names that differ in case only, by ASCII letters and by others. */
const name = fc.string({
  unit: fc.constantFrom('a', 'A', 'k', 'K', '\u212a', 'ä', 'Ä', '.', '`'),
  maxLength: 3,
})
const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

test('names are found as a look through all fields finds them', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 12 }), fc.array(name, { maxLength: 12 }), (names, asked) => {
      const fields: Field[] = names.map((name) => field(name, int32()))
      for (const wanted of [...asked, ...names]) {
        expect(indexOfName(fields, wanted)).toBe(names.indexOf(wanted))
        expect(indexInAsciiCase(fields, wanted)).toBe(
          names.findIndex((name) => lowerAscii(name) === lowerAscii(wanted)),
        )
        const close = names.flatMap((name, i) => (name.toLowerCase() === wanted.toLowerCase() ? [i] : []))
        expect(onlyIndexInAnyCase(fields, wanted)).toBe(close.length === 1 ? close[0] : -1)
      }
    }),
    { numRuns: 500 },
  )
})

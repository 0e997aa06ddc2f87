import fc from 'fast-check'
import * as v from 'valibot'
import { expect, it } from 'vitest'
import { fastStringList } from '../../../src/base/model/fields.ts'

const plain = v.array(v.string('no string'), 'no list')
const config = { abortEarly: true, abortPipeEarly: true }

it('a quick list of strings finds what the plain one does, and gives a list of its own', () => {
  const given = fc.oneof(
    fc.array(fc.string()),
    fc.array(fc.oneof(fc.string(), fc.anything())),
    fc.sparseArray(fc.string(), { maxLength: 4, maxNumElements: 4 }),
    fc.anything(),
  )
  fc.assert(
    fc.property(given, (value) => {
      const quick = v.safeParse(fastStringList(plain), value, config)
      expect(quick).toEqual(v.safeParse(plain, value, config))
      if (quick.success) expect(quick.output).not.toBe(value)
    }),
  )
})

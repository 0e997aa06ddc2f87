import fc from 'fast-check'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { schemaFor } from '../../../src/operations/framework/check.ts'
import { type OperationName, operations } from '../../../src/operations/index.ts'

/** Values that some field takes, and values that none does. */
const anyValue = fc.constantFrom<unknown>(
  undefined,
  null,
  ['a'],
  [],
  ['a', 'b$'],
  'text',
  '',
  'main',
  1,
  -1,
  true,
  {},
  { a: 'b' },
  [{ start_version: 1, end_version: 2 }],
  'Create',
)

const asked = fc.constantFrom(...(Object.keys(operations) as OperationName[])).chain((name) => {
  const request = operations[name].definition.request as v.GenericSchema & { entries?: object }
  const fields = [...Object.keys(request.entries ?? {}), 'unknown', 'x,id', '__proto__']
  return fc.tuple(
    fc.constant(name),
    fc.array(fc.tuple(fc.constantFrom(...fields), anyValue), { maxLength: 5 }),
    fc.boolean(),
  )
})

test('a schema without the fields that are absent finds what the whole schema finds', () => {
  fc.assert(
    fc.property(asked, ([name, members, inherits]) => {
      const schema: v.GenericSchema = operations[name].definition.request
      // What a request inherits counts as well.
      const request: object = inherits ? Object.create({ id: ['inherited'] }) : {}
      for (const [field, value] of members) {
        Object.defineProperty(request, field, {
          value,
          enumerable: true,
          writable: true,
          configurable: true,
        })
      }
      const options = { abortEarly: true, abortPipeEarly: true }
      const whole = v.safeParse(schema, request, options)
      const reduced = v.safeParse(schemaFor(schema, request), request, options)
      expect(reduced.success).toBe(whole.success)
      expect(reduced.output).toEqual(whole.output)
      const told = (issues: typeof whole.issues) =>
        issues?.map((issue) => [issue.message, issue.received, issue.path?.map(({ key }) => key)])
      expect(told(reduced.issues)).toEqual(told(whole.issues))
    }),
    { numRuns: 1500 },
  )
})

test('null is taken for every field that may be absent', () => {
  const refused = Object.values(operations).flatMap(({ definition }) => {
    const { entries = {} } = definition.request as { entries?: Readonly<Record<string, v.GenericSchema>> }
    return Object.entries(entries)
      .filter(([, entry]) => v.is(v.object({ entry }), {}) && !v.is(entry, null))
      .map(([field]) => `${definition.name}.${field}`)
  })
  expect(refused).toEqual([])
})

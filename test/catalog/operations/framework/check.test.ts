import fc from 'fast-check'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { checkRequest, schemaFor } from '../../../../src/catalog/operations/framework/check.ts'
import type { AnyOperation } from '../../../../src/catalog/operations/framework/operation.ts'
import { type OperationName, operations } from '../../../../src/catalog/operations/index.ts'

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

/** What a key might put between two names. */
const between = fc.constantFrom(
  ',',
  ', ',
  '","',
  "','",
  '\0',
  '\u0001',
  '\n',
  '/',
  '.',
  ' ',
  ':',
  '|',
  '',
  '\u{10ffff}',
)

const strangeName = fc.string({
  unit: fc.constantFrom(',', '"', "'", '\\', '\0', '\n', '\t', '\u0085', '\u2028', '[', ']', 'a', 'i', 'd'),
  minLength: 1,
  maxLength: 6,
})

test('a field that an operation does not have is refused, whichever requests came before', () => {
  for (const { definition } of Object.values(operations)) {
    const operation = definition as unknown as AnyOperation
    const { entries, type } = operation.request as v.GenericSchema & { entries: object }
    if (type === 'loose_object') continue
    const fields = Object.keys(entries)
    const asked = fc.tuple(
      fc.shuffledSubarray(fields, { minLength: 1, maxLength: Math.min(5, fields.length) }),
      fc.nat(5),
      fc.nat(5),
      between,
      strangeName,
    )
    fc.assert(
      fc.property(asked, ([names, from, length, separator, strange]) => {
        const legal = Object.fromEntries(names.map((name) => [name, ['a']]))
        const refusalOf = (request: object) => {
          try {
            checkRequest(operation, request)
          } catch (error) {
            return (error as Error).message
          }
          return 'none'
        }
        expect(refusalOf(legal)).not.toContain('has no field')
        // Some of its fields as one, the others as they are; and a name of no field at all.
        const some = names.slice(from, from + length + 1)
        for (const name of [some.join(separator), separator + names[0], strange]) {
          if (Object.hasOwn(entries, name) || operation.ignores?.includes(name)) continue
          const members = names.filter((other) => !some.includes(other)).map((other) => [other, undefined])
          const at = Math.min(from, members.length)
          members.splice(at, 0, [name, 'a'])
          expect(refusalOf(Object.fromEntries(members))).toContain(`${operation.name} has no field`)
        }
      }),
      { numRuns: 60 },
    )
  }
})

import {
  columnFromArray,
  dateDay,
  decimal128,
  dictionary,
  fixedSizeBinary,
  float16,
  int8,
  list,
  type Schema,
  tableFromColumns,
  tableToIPC,
  timestamp,
  utf8,
} from '@uwdata/flechette'
import { expect, test } from 'vitest'
import { decodeArrow } from '../../../src/engine/arrow/ipc/decode.ts'
import { decodeSchema, encodeSchema } from '../../../src/engine/arrow/schema.ts'
import { otherNames } from '../../../src/engine/arrow/types-meant.ts'
import {
  fromJsonSchema,
  type JsonArrowType,
  schemaDifference,
  toJsonSchema,
} from '../../../src/engine/table/index.ts'
import { fixture } from './fixtures.ts'

const { schema } = await decodeArrow(fixture('types.arrows'))

function of(type: JsonArrowType): Schema {
  return fromJsonSchema({ fields: [{ name: 'a', nullable: true, type }] })
}

test('every type comes back from its JSON form', () => {
  const json = JSON.parse(JSON.stringify(toJsonSchema(schema)))
  expect(schemaDifference(schema, fromJsonSchema(json))).toBeUndefined()
  expect(toJsonSchema(fromJsonSchema(json))).toEqual(json)
  expect(json.metadata).toEqual({ k: 'v' })
})

test('types have the names Lance gives them', () => {
  const item = { name: 'item', type: utf8(), nullable: true, metadata: new Map() }
  const fields = [
    utf8(),
    float16(),
    dateDay(),
    timestamp(2),
    timestamp(2, 'UTC'),
    decimal128(10, 2),
    fixedSizeBinary(3),
    dictionary(timestamp(2), int8(), true),
    list(item),
  ]
  const schema = { fields: fields.map((type, i) => ({ ...item, name: `${i}`, type })) } as Schema
  const json = toJsonSchema(schema)
  expect(schemaDifference(schema, fromJsonSchema(json))).toBeUndefined()
  expect(json.fields.map(({ type }) => type)).toEqual([
    { type: 'string' },
    { type: 'halffloat' },
    { type: 'date32:day' },
    { type: 'timestamp:us:-' },
    { type: 'timestamp:us:UTC' },
    { type: 'decimal:128:10:2' },
    { type: 'fixed_size_binary', length: 3 },
    { type: 'dict:timestamp:us:-:int8:true' },
    { type: 'list', fields: [{ name: 'item', type: { type: 'string' }, nullable: true }] },
  ])
})

test.each([
  { type: 'utf8' },
  { type: 'int65' },
  { type: 'list' },
  { type: 'fixed_size_list', length: 2 },
  { type: 'fixed_size_binary:-1' },
  { type: 'timestamp:us' },
  { type: 'time32:us' },
  { type: 'decimal:100:10:2' },
  { type: 'dict:string:int32' },
  { type: 'dict:utf8:int32:false' },
  { type: 'dict:string:float:false' },
  { type: 'dict:dict:string:int8:false:int8:false' },
  { type: 'constructor' },
  { type: '' },
])('refuses %j, naming the field', (type) => {
  expect(() => of(type)).toThrow(/^Field "a" has type /)
})

test('an encoded schema loses nothing', () => {
  const again = decodeSchema(encodeSchema(schema))
  expect(schemaDifference(schema, again)).toBeUndefined()
  expect(again.metadata).toEqual(schema.metadata)
  expect(again.fields.map(({ metadata }) => metadata)).toEqual(schema.fields.map(({ metadata }) => metadata))
})

test('the difference of two schemas is told in words', () => {
  const int = of({ type: 'int32' })
  expect(schemaDifference(int, of({ type: 'string' }))).toBe('column "a" is string and not int32')
  expect(schemaDifference(int, { fields: [] })).toBe('column "a" is missing')
  const [a] = int.fields
  expect(schemaDifference(int, { fields: [a!, { ...a!, name: 'b' }] })).toBe('column "b" is not in the table')
  expect(schemaDifference({ fields: [{ ...a!, nullable: false }] }, int)).toBe(
    'column "a" may be null and must not be',
  )
  expect(
    schemaDifference({ fields: [a!, { ...a!, name: 'b' }] }, { fields: [{ ...a!, name: 'b' }, a!] }),
  ).toBe('column "a" is in another place')
})

test('names of fields and of metadata have a limit, in JSON and in Arrow', async () => {
  const [fits, long] = ['k'.repeat(16_383), 'k'.repeat(16_384)]
  const schemas = (name: string) => [
    { fields: [{ name, nullable: true, type: { type: 'int8' } }] },
    { fields: [{ name: 'a', nullable: true, type: { type: 'int8' }, metadata: { [name]: 'v' } }] },
    { fields: [], metadata: { [name]: 'v' } },
    {
      fields: [
        {
          name: 'a',
          nullable: true,
          type: { type: 'struct', fields: [{ name, nullable: true, type: { type: 'int8' } }] },
        },
      ],
    },
  ]
  for (const json of schemas(fits))
    expect(toJsonSchema(decodeSchema(encodeSchema(fromJsonSchema(json))))).toMatchObject(json)
  const arrow = (name: string) => {
    const columns = tableFromColumns({ [name]: columnFromArray([1], int8()) })
    return decodeArrow(tableToIPC(columns, {})!)
  }
  expect((await arrow(fits)).schema.fields[0]!.name).toBe(fits)
  const message = /^The name "k{77}…" in the schema has 16,384 characters, and 16,383 are the most/
  for (const json of schemas(long)) expect(() => fromJsonSchema(json)).toThrow(message)
  await expect(arrow(long)).rejects.toThrow(message)
})

test('a name of a type elsewhere is refused with the one that is meant, which is one', () => {
  const item = { name: 'item', nullable: true, type: { type: 'int32' } }
  for (const [meant, words] of Object.entries(otherNames)) {
    const fields = meant === 'dictionary' ? [item, item] : [item]
    expect(() =>
      of({ type: meant, ...(/^(?:dictionary|list|struct)$/.test(meant) && { fields }) }),
    ).not.toThrow()
    for (const word of words.split(' '))
      for (const given of [word, word.toUpperCase(), word.replaceAll('_', ' '), `${word}(7)`])
        expect(() => of({ type: given }), given).toThrow(
          new RegExp(`Use .*${JSON.stringify(meant).replace('38:10', '(38:10|7:0)')}.*\\.$`),
        )
  }
})

test.each([
  ['utf8', ['string']],
  ['varchar(20)', ['string']],
  ['INTEGER', ['int32', 'int64']],
  ['long', ['int64']],
  ['boolean', ['bool']],
  ['datetime64[ns]', ['timestamp:ns:-']],
  ['timestamp[ms, tz=UTC]', ['timestamp:ms:-', 'timestamp:ms:UTC']],
  ['decimal(10, 2)', ['decimal:128:10:2']],
  ['time64[ns]', ['time64:ns']],
  ['time32[s]', ['time32:s']],
  ['strng', ['string']],
  ['Double', ['double']],
  ['timestamp:us', ['timestamp:us:-']],
])('the type %s is refused with %j', (given, meant) => {
  const names = meant.map((name) => JSON.stringify(name)).join(' or ')
  expect(() => of({ type: given })).toThrow(`a part. Use ${names}.`)
})

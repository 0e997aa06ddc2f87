import { describe, expect, it } from 'vitest'
import { readSchema } from '../../../src/iceberg/metadata/index.ts'
import { indexOf } from '../../../src/iceberg/metadata/schema-index.ts'
import { field, refused, struct, table } from './tables.ts'

const read = (schema: unknown) => readSchema(schema, 'schema')
const ofType = (type: unknown, more: Record<string, unknown> = {}) => struct(field(1, 'a', type, more))
const list = (element: unknown, id = 2) => ({
  type: 'list',
  'element-id': id,
  element,
  'element-required': true,
})

describe('the types of a schema', () => {
  it.each([
    'boolean',
    'int',
    'long',
    'float',
    'double',
    'decimal(9,2)',
    'decimal(38, 0)',
    'date',
    'time',
    'timestamp',
    'timestamptz',
    'timestamp_ns',
    'timestamptz_ns',
    'string',
    'uuid',
    'fixed[16]',
    'binary',
    'variant',
    'geometry',
    'geometry(srid:3857)',
    'geography',
    'geography(OGC:CRS84, karney)',
  ])('know %s', (type) => {
    const schema = ofType(type)
    expect(read(schema)).toBe(schema)
  })

  it('are written in their usual spelling', () => {
    expect(read(ofType('STRING')).fields[0]!.type).toBe('string')
    expect(read(ofType('Decimal( 9 , 2 )')).fields[0]!.type).toBe('decimal(9, 2)')
    expect(read(ofType('fixed[ 016 ]')).fields[0]!.type).toBe('fixed[16]')
  })

  it.each([
    ['text', 'Cannot parse type string to primitive: "text"'],
    ['decimal(39, 0)', 'Decimals with precision larger than 38 are not supported: 39'],
    ['decimal(3, 4)', 'Invalid precision and scale'],
    ['fixed[4294967296]', 'Invalid length of fixed'],
    ['geometry()', 'Invalid CRS: (empty string)'],
    ['geography(OGC:CRS84, flat)', 'Invalid edge interpolation algorithm: "flat"'],
    [{ type: 'set' }, 'Cannot parse type from json: schema.fields[0].type: "set"'],
    [null, 'Cannot parse type from json'],
    [['long'], 'Cannot parse type from json'],
    ['__proto__', 'Cannot parse type string to primitive'],
    ['constructor', 'Cannot parse type string to primitive'],
    ['x'.repeat(100_000), 'Cannot parse type string to primitive'],
  ])('do not know %j', (type, message) => {
    refused(() => read(ofType(type)), 'IllegalArgumentException', message)
  })

  it('came with a version of the format', () => {
    const schema = ofType('variant', { required: false })
    expect(table(3, { schema }).schemas[0]!.fields[0]!.type).toBe('variant')
    refused(
      () => table(2, { schema }),
      'ValidationException',
      'Invalid schema for v2:\n- Invalid type for a: variant is not supported until v3',
    )
    const nested = ofType(list('timestamp_ns'))
    refused(
      () => table(2, { schema: nested }),
      'ValidationException',
      'Invalid type for a.element: timestamp_ns',
    )
    const initial = ofType('int', { 'initial-default': 3 })
    expect(table(3, { schema: initial }).schemas[0]!.fields[0]).toHaveProperty('initial-default', 3)
    refused(
      () => table(2, { schema: initial }),
      'ValidationException',
      'Invalid initial default for a: non-null default (3) is not supported until v3',
    )
  })

  it('may be unknown only where a value may be missing', () => {
    expect(() => read(ofType('unknown', { required: false }))).not.toThrow()
    refused(
      () => read(ofType('unknown')),
      'IllegalArgumentException',
      'Cannot create required field with unknown type: "a"',
    )
    refused(() => read(ofType(list('unknown'))), 'IllegalArgumentException', 'unknown type')
  })
})

describe('the defaults of a field', () => {
  it.each([
    ['boolean', true, 1],
    ['int', -3, 2 ** 31],
    ['long', 2n ** 62n, 2n ** 63n],
    ['float', 1.5, '1.5'],
    ['double', 1, true],
    ['decimal(9, 2)', '14.20', '14.2'],
    ['decimal(9, 0)', '14', '1e3'],
    ['date', '2024-02-29', '2023-02-29'],
    ['date', '+300000-02-29', '+300001-02-29'],
    ['date', '-0004-02-29', '2024-00-01'],
    ['time', '22:31:08.123456', '24:00:00'],
    ['timestamp', '2017-11-16T22:31:08.123456', '2017-11-16 22:31:08'],
    ['timestamptz', '2017-11-16T22:31:08.123456+00:00', '2017-11-16T22:31:08+01:00'],
    ['timestamp_ns', '2017-11-16T22:31:08.123456789', '2017-13-16T22:31:08'],
    ['timestamptz_ns', '2017-11-16T22:31:08.123456789Z', '2017-11-16T22:31:08'],
    ['string', '', 0],
    ['uuid', 'f79c3e09-677c-4bbd-a479-3f349cb785e7', 'f79c3e09'],
    ['fixed[2]', '0fFF', '0fff00'],
    ['binary', '0f', '0'],
  ])('of type %s are its values', (type, good, bad) => {
    for (const name of ['initial-default', 'write-default']) {
      expect(() => read(ofType(type, { [name]: good }))).not.toThrow()
      refused(
        () => read(ofType(type, { [name]: bad })),
        'IllegalArgumentException',
        'Cannot parse default as a',
      )
    }
  })

  it('are null for nested types, and those that have no values in JSON', () => {
    expect(() => read(ofType(list('long'), { 'initial-default': null }))).not.toThrow()
    refused(
      () => read(ofType(list('long'), { 'initial-default': [1] })),
      'IllegalArgumentException',
      'must be null',
    )
    for (const type of ['variant', 'geometry', 'geography'])
      refused(
        () => read(ofType(type, { 'write-default': 'a' })),
        'IllegalArgumentException',
        'Cannot parse default',
      )
  })
})

describe('the fields of a schema', () => {
  it('have names by which they are found, also without the words of lists and maps', () => {
    const point = { type: 'struct', fields: [field(3, 'x'), field(4, 'y')] }
    const index = indexOf(
      read(
        struct(field(1, 'points', list(point)), field(5, 'tags', list('string', 6)), field(7, 'points.x')),
      ),
    )
    expect([...index.names.values()].sort()).toEqual([
      'points',
      'points.element',
      'points.element.x',
      'points.element.y',
      'points.x',
      'tags',
      'tags.element',
    ])
    expect(index.ids.get('points.x')).toBe(7)
    expect(index.ids.get('points.y')).toBe(4)
    expect(index.highestId).toBe(7)
    expect(index.parents.get(4)).toBe(2)
  })

  it('have ids and names of their own', () => {
    refused(
      () => read(struct(field(1, 'a'), field(1, 'b'))),
      'ValidationException',
      'multiple fields for id 1: a and b',
    )
    refused(
      () => read(struct(field(1, 'a'), field(2, 'a'))),
      'ValidationException',
      'Invalid schema: multiple fields for name a: 1 and 2',
    )
    refused(
      () => read(struct(field(1, 'a', list('long', 1)))),
      'ValidationException',
      'multiple fields for id 1',
    )
  })

  it.each([
    ['an id', { name: 'a', required: true, type: 'long' }, 'Cannot parse missing int: schema.fields[0].id'],
    ['a name', { id: 1, required: true, type: 'long' }, 'Cannot parse missing string: schema.fields[0].name'],
    [
      'required',
      { id: 1, name: 'a', type: 'long' },
      'Cannot parse missing boolean: schema.fields[0].required',
    ],
    ['a type', { id: 1, name: 'a', required: true }, 'Cannot parse type from json: schema.fields[0].type'],
    ['an object', 7, 'Cannot parse an object from 7: schema.fields[0]'],
    [
      'an id that is an integer',
      field(1.5, 'a'),
      'Cannot parse to an integer value: schema.fields[0].id: 1.5',
    ],
    [
      'a doc that is text',
      field(1, 'a', 'long', { doc: 1 }),
      'Cannot parse to a string value: schema.fields[0].doc: 1',
    ],
  ])('need %s', (_, given, message) => {
    refused(() => read(struct(given)), 'IllegalArgumentException', message)
  })

  it('keep what the specification does not name', () => {
    const schema = JSON.parse(
      '{"type":"struct","schema-id":2,"x":1,"fields":[{"id":1,"name":"a","required":true,"type":"LONG","__proto__":{"y":1}}]}',
    )
    const kept = read(schema)
    expect(JSON.stringify(kept)).toBe(JSON.stringify(schema).replace('LONG', 'long'))
    expect(Object.getPrototypeOf(kept.fields[0])).toBe(Object.prototype)
  })

  it('are at most ten thousand, and nested at most a hundred deep', () => {
    const many = Array.from({ length: 10_001 }, (_, i) => field(i + 1, `c${i}`))
    expect(() => read(struct(...many.slice(1)))).not.toThrow()
    refused(() => read(struct(...many)), 'IllegalArgumentException', 'more than 10000 fields')
    let deep: unknown = 'long'
    for (let id = 2; id < 200; id++) deep = list(deep, id)
    refused(() => read(ofType(deep)), 'BadRequestException', 'nested deeper than 100')
  })

  it('have names that fit into memory with those of their parents', () => {
    const name = 'n'.repeat(50_000)
    let type: unknown = {
      type: 'struct',
      fields: Array.from({ length: 500 }, (_, i) => field(i + 100, `c${i}`)),
    }
    for (let id = 2; id < 30; id++) type = { type: 'struct', fields: [field(id, name, type)] }
    refused(() => read(ofType(type)), 'IllegalArgumentException', 'characters')
  })
})

describe('identifier fields', () => {
  const point = (required: boolean) =>
    field(1, 'point', { type: 'struct', fields: [field(2, 'x'), field(3, 'd', 'double')] }, { required })
  const identified = (schema: object, ...ids: number[]) => read({ ...schema, 'identifier-field-ids': ids })

  it('are required and primitive, in structs that are required', () => {
    expect(() => identified(struct(point(true)), 2)).not.toThrow()
  })

  it.each([
    [struct(point(true)), 9, 'Cannot add fieldId 9 as an identifier field: field does not exist'],
    [struct(point(true)), 1, 'Cannot add field point as an identifier field: not a primitive type field'],
    [struct(point(true)), 3, 'Cannot add field d as an identifier field: must not be float or double field'],
    [
      struct(point(false)),
      2,
      'Cannot add field x as an identifier field: must not be nested in an optional field point',
    ],
    [
      ofType('long', { required: false }),
      1,
      'Cannot add field a as an identifier field: not a required field',
    ],
    [ofType(list('long')), 2, 'Cannot add field element as an identifier field: must not be nested in a'],
  ])('are not others (%#)', (schema, id, message) => {
    refused(() => identified(schema, id), 'IllegalArgumentException', message)
  })
})

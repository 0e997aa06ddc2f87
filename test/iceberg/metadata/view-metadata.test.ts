import { describe, expect, test } from 'vitest'
import { parse, stringify } from '../../../src/iceberg/json.ts'
import { checkViewRequirements, newViewMetadata } from '../../../src/iceberg/metadata/view-metadata.ts'
import { checkViewMetadata } from './at-once.ts'
import {
  added,
  addSchema,
  addVersion,
  apply,
  bad,
  invalid,
  now,
  one,
  refusal,
  schemaOf,
  setCurrent,
  setLocation,
  setProperties,
  sql,
  three,
  two,
  uuid,
  version,
  view,
} from './views.ts'

describe('a view of updates', () => {
  test('has all that they say', () => {
    const properties = { key1: 'prop1', key2: 'prop2' }
    const last = { ...three, 'schema-id': 1 }
    const metadata = apply(undefined, [
      { action: 'assign-uuid', uuid },
      { action: 'upgrade-format-version', 'format-version': 1 },
      { action: 'set-location', location: 'custom-location' },
      setProperties(properties),
      addSchema(schemaOf('x')),
      addSchema(schemaOf('y', 1)),
      ...[one, two, last].map(addVersion),
      setCurrent(3),
    ])
    expect(metadata).toEqual({
      'view-uuid': uuid,
      'format-version': 1,
      location: 'custom-location',
      properties,
      schemas: [schemaOf('x'), schemaOf('y', 1)],
      'current-version-id': 3,
      versions: [one, two, last],
      'version-log': [{ 'timestamp-ms': 3000, 'version-id': 3 }],
    })
  })

  test('needs a location, a version, and a current one', () => {
    expect(() => apply(undefined, [])).toThrow(bad('Invalid location: null'))
    expect(() => apply(undefined, [setLocation])).toThrow(bad('Invalid view: no versions were added'))
    expect(() => apply(undefined, [setLocation, setCurrent(1)])).toThrow(
      bad('Cannot set current version to unknown version: 1'),
    )
    expect(() => view(addVersion(one))).toThrow(bad('Invalid view: no version was set as current'))
    expect(() => view(addVersion(one), setCurrent(23))).toThrow(
      bad('Cannot set current version to unknown version: 23'),
    )
    expect(() => apply(undefined, [{ action: 'set-location', location: '' }])).toThrow(
      bad('Invalid view location'),
    )
  })

  test('refuses other versions of the format', () => {
    const upgrade = (to: number) => ({ action: 'upgrade-format-version', 'format-version': to })
    expect(() => view(upgrade(23))).toThrow(bad('Unsupported format version: 23'))
    expect(() => view(upgrade(0))).toThrow(bad('Cannot downgrade v1 view to v0'))
  })

  test('gets a UUID once', () => {
    const base = view(addVersion(one), setCurrent(1))
    const assign = (to: unknown) => ({ action: 'assign-uuid', uuid: to })
    expect(base['view-uuid']).toBe(uuid)
    expect(apply(base, [])).toBe(base)
    expect(apply(base, [assign(uuid)])).toBe(base)
    expect(apply(base, [assign(uuid.toUpperCase())])).toBe(base)
    expect(() => apply(base, [assign('d20125c8-7284-442c-9aea-15fee620737c')])).toThrow(
      bad('Cannot reassign uuid'),
    )
    expect(() => apply(base, [assign(null)])).toThrow(bad('Cannot parse to a string value'))
    expect(() => view(assign('a'), assign('b'))).toThrow(bad('Cannot reassign uuid'))
  })

  test('is the base where nothing changes', () => {
    const base = view(addVersion(one), setCurrent(1))
    const updates = [
      setLocation,
      { action: 'set-location', location: 'location/' },
      addSchema(),
      addVersion({ ...one, 'version-id': 7, 'timestamp-ms': 5 }),
      setCurrent(-1),
      setCurrent(1),
      setProperties({}),
      { action: 'remove-properties', removals: [] },
      { action: 'UPGRADE-FORMAT-VERSION', 'format-version': 1 },
    ]
    expect(apply(base, updates)).toBe(base)
  })

  test('takes properties by both names of the member', () => {
    const base = view(addVersion(one), setCurrent(1), setProperties({ a: '1', b: '2' }))
    const changed = apply(base, [
      { action: 'set-properties', updated: { c: '3', ['__proto__']: 'own' } },
      { action: 'remove-properties', removed: ['a', 'none'] },
    ])
    expect(stringify(changed.properties)).toBe('{"b":"2","c":"3","__proto__":"own"}')
    expect(
      apply(changed, [{ action: 'remove-properties', removals: ['__proto__', 'b', 'c'] }]).properties,
    ).toEqual({})
    expect(() => apply(base, [setProperties({ a: 1 })])).toThrow(bad('Cannot parse to a string value'))
  })

  test('refuses updates that it does not know, whatever comes before', () => {
    const base = view(addVersion(one), setCurrent(1))
    const first = { action: 'set-properties', updates: 5 }
    for (const action of ['set-current-schema', 'add-snapshot', 'constructor', 'fly'])
      expect(() => apply(base, [first, { action }])).toThrow(
        refusal('BadRequestException', `Cannot apply update "${action}" to a view: updates[1]`),
      )
    expect(() => apply(base, [{}])).toThrow(bad('Cannot parse metadata update. Missing field: action'))
    expect(() => apply(base, ['x'])).toThrow(bad('Cannot parse metadata update from non-object value'))
  })
})

describe('a new view', () => {
  const asked = {
    schema: schemaOf('x', 4),
    viewVersion: { ...one, 'version-id': 9, 'schema-id': 4 },
    location: 's3://b/v/',
    uuid,
    now,
  }

  test('has the ids and times of the catalog, and the rest of the request', () => {
    expect(newViewMetadata({ ...asked, properties: { comment: 'x' } })).toEqual({
      'view-uuid': uuid,
      'format-version': 1,
      location: 's3://b/v',
      properties: { comment: 'x' },
      schemas: [schemaOf('x')],
      'current-version-id': 1,
      versions: [{ ...one, 'timestamp-ms': now }],
      'version-log': [{ 'timestamp-ms': now, 'version-id': 1 }],
    })
  })

  test.each([
    [{ viewVersion: { ...one, representations: [] } }, 'Cannot create view without specifying a query'],
    [
      { viewVersion: { ...one, representations: [{ type: 'ir' }, sql('a')] } },
      'Found unsupported view representations: [ir]',
    ],
    [
      { viewVersion: { ...one, representations: [sql('a'), sql('b')] } },
      'Cannot add multiple queries for dialect spark',
    ],
    [{ viewVersion: undefined }, 'not JSON'],
    [{ schema: null }, 'schema'],
    [{ properties: { a: null } }, 'Cannot parse to a string value'],
    [{ properties: { 'version.history.num-entries': '0' } }, 'must be positive'],
    [{ location: '' }, 'Invalid view location'],
  ])('refuses %j', (more, message) => {
    expect(() => newViewMetadata({ ...asked, ...more })).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(message) }),
    )
  })
})

describe('checking a file', () => {
  const text = stringify(view(...added, setCurrent(3)))

  /** The file with one member changed, or left out. */
  function changed(path: string, value: unknown): unknown {
    const json = parse(text)
    const names = path.split('.')
    const last = names.pop()!
    let at = json as Record<string, unknown>
    for (const name of names) at = at[name] as Record<string, unknown>
    if (value === undefined) delete at[last]
    else at[last] = value
    return json
  }

  test('gives the same object, with members that nobody knows', () => {
    const json = changed('x', { y: [9007199254740993n] })
    expect(checkViewMetadata(json)).toBe(json)
    const next = apply(checkViewMetadata(json), [setCurrent(2)])
    expect(next.x).toEqual({ y: [9007199254740993n] })
    expect(next.versions[0]).toBe((json as { versions: unknown[] }).versions[0])
  })

  test('keeps representations of other types', () => {
    const json = changed('versions.0.representations.1', { type: 'ir', bytes: 'AA' })
    expect(checkViewMetadata(json)).toBe(json)
  })

  test('allows two queries for one dialect, which a commit keeps', () => {
    const json = changed('versions.2.representations.1', sql('select 2', 'SPARK'))
    const metadata = apply(checkViewMetadata(json), [addVersion(version(4, 'select 4')), setCurrent(-1)])
    expect(metadata.versions[2]!.representations).toHaveLength(2)
  })

  test('leaves out members that are null where others read them as a value', () => {
    const json = changed('properties', null)
    expect(checkViewMetadata(json)).not.toHaveProperty('properties')
    expect(json).toHaveProperty('properties')
    const version = checkViewMetadata(changed('versions.0.default-catalog', null)).versions[0]
    expect(version).not.toHaveProperty('default-catalog')
  })

  test.each<[string, string, unknown]>([
    ['Cannot parse missing string: view.view-uuid', 'view-uuid', undefined],
    ['Cannot parse missing string: view.location', 'location', undefined],
    ['Cannot parse missing int: view.current-version-id', 'current-version-id', undefined],
    ['Cannot parse missing list: view.version-log', 'version-log', undefined],
    ['Cannot parse missing list: view.schemas', 'schemas', undefined],
    ['Unsupported format version: 2', 'format-version', 2],
    ['Unsupported format version: 0', 'format-version', 0],
    ['Cannot find current version 1234 in view versions: [1, 2, 3]', 'current-version-id', 1234],
    ['Cannot find current schema with id 1234 in schemas: [0]', 'versions.2.schema-id', 1234],
    ['Multiple entries with same version-id: 1', 'versions.1.version-id', 1],
    ['Multiple entries with same schema-id: 0', 'schemas.1', schemaOf('y')],
    ['Cannot parse to a long value: view.version-log[0].timestamp-ms', 'version-log.0.timestamp-ms', 0.5],
  ])('refuses: %s', (message, path, value) => {
    expect(() => checkViewMetadata(changed(path, value))).toThrow(bad(message))
  })
})

describe('requirements', () => {
  const base = view(addVersion(one), setCurrent(1))
  const of = (type: unknown, more: object = {}) => [{ type, ...more }]

  test('hold for the UUID in any case', () => {
    checkViewRequirements([], undefined)
    checkViewRequirements(of('assert-view-uuid', { uuid: uuid.toUpperCase() }), base)
    expect(() => checkViewRequirements(of('assert-view-uuid', { uuid: 'other' }), base)).toThrow(
      refusal(
        'CommitFailedException',
        `Requirement failed: view UUID does not match: expected ${uuid} != other`,
      ),
    )
    expect(() => checkViewRequirements(of('assert-view-uuid', { uuid }), undefined)).toThrow(
      refusal('NoSuchViewException', 'View does not exist'),
    )
  })

  test('that are for tables or not known are refused before any is checked', () => {
    const failing = { type: 'assert-view-uuid', uuid: 'other' }
    const check = (requirement: unknown) => () => checkViewRequirements([failing, requirement], base)
    expect(check({ type: 'assert-table-uuid', uuid })).toThrow(
      invalid('Cannot validate AssertTableUUID against a view'),
    )
    expect(check({ type: 'fly' })).toThrow(
      refusal('BadRequestException', 'Unrecognized update requirement: "fly"'),
    )
    expect(check({})).toThrow(bad('Missing field: type'))
    expect(check(5)).toThrow(bad('from non-object value'))
    expect(check({ type: 'assert-view-uuid' })).toThrow(bad('Cannot parse missing string'))
  })
})

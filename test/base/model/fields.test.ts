import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import {
  branch,
  choice,
  identifier,
  limit,
  limits,
  newBranch,
  newTag,
  stringMap,
  tableIdentifier,
  version,
} from '../../../src/base/model/fields.ts'

const problem = (schema: v.GenericSchema, given: unknown) => {
  const result = v.safeParse(schema, given, { abortPipeEarly: true })
  return result.success ? undefined : result.issues[0].message
}

describe('a version', () => {
  it.each([0, 1, 2 ** 53 - 1])('may be %d', (given) => expect(v.parse(version, given)).toBe(given))
  it.each([-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '1', 1n, null, [1], undefined])(
    'may not be %s',
    (given) => expect(problem(version, given)).toContain('whole number from 0 to 2^53'),
  )
})

describe('a limit', () => {
  it('is a whole number from 0', () => {
    expect(v.parse(limit, 0)).toBe(0)
    for (const given of [-1, 1.5, '5', Number.NaN]) expect(problem(limit, given)).toContain('whole number')
  })
})

describe('an identifier', () => {
  it.each([['a'], [], ['__proto__', 'constructor']])('may be a list of names', (...id) =>
    expect(v.parse(identifier, id)).toEqual(id),
  )
  it.each(['prod', 7, null, { 0: 'a', length: 1 }, [1], [null], [['a']]])('may not be %j', (given) =>
    expect(problem(identifier, given)).toMatch(/list of|must be a string/),
  )
  it('of a table holds at least its name', () => {
    expect(problem(tableIdentifier, [])).toContain('root namespace')
  })
})

describe('a choice', () => {
  const mode = choice('Create', 'ExistOk', 'Overwrite')
  it.each(['ExistOk', 'EXISTOK', 'existok', 'exist_ok', 'EXIST_OK'])('reads %s', (given) =>
    expect(v.parse(mode, given)).toBe('ExistOk'),
  )
  it.each(['', 'Exist', 'Append', 'exist-ok', 'Create '])('refuses %j and names what there is', (given) =>
    expect(problem(mode, given)).toBe('must be Create, ExistOk or Overwrite'),
  )
  it.each([1, null, ['Create']])('refuses %j', (given) => expect(problem(mode, given)).toContain('must be'))
})

describe('a branch', () => {
  it.each([undefined, null, '', 'main'])('%s is the main one', (given) =>
    expect(v.parse(branch, given)).toBe(''),
  )
  it('is a name otherwise', () => {
    expect(v.parse(branch, 'dev')).toBe('dev')
    expect(problem(branch, 'x'.repeat(256))).toContain('255')
    expect(problem(branch, 1)).toContain('string')
  })
  it.each(['dev', 'feature/one', 'a.b-c_d', '__proto__'])('may be created as %s', (given) =>
    expect(v.parse(newBranch, given)).toBe(given),
  )
  it.each(['main', '', 'a b', '/a', 'a/', 'a//b', '..', 'a/../b', 'é', 'x'.repeat(256)])(
    'may not be created as %j',
    (given) => expect(problem(newBranch, given)).toBeDefined(),
  )
})

describe('a tag', () => {
  it.each(['v1', '2024-01-01', '1.0.0', '__proto__', '_'])('may be created as %s', (given) =>
    expect(v.parse(newTag, given)).toBe(given),
  )
  it.each(['', 'a/b', 'a b', '.', '..', 'é', 'x'.repeat(256), 'a\n'])('may not be created as %j', (given) =>
    expect(problem(newTag, given)).toContain('letters, digits'),
  )
})

describe('a map of strings', () => {
  it('keeps keys that mean something to JavaScript', () => {
    const given = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}')
    expect(Object.entries(v.parse(stringMap, given))).toEqual(Object.entries(given))
  })
  it.each([null, [], 'a', { a: 1 }, { a: null }, { a: { b: 'c' } }])('may not be %j', (given) =>
    expect(problem(stringMap, given)).toContain('values are strings'),
  )
  it('holds at most 1,000 entries', () => {
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '']))
    expect(problem(stringMap, entries(limits.entries))).toBeUndefined()
    expect(problem(stringMap, entries(limits.entries + 1))).toContain('1001 entries')
  })
  it('takes at most 64 KiB in all, counted in UTF-8', () => {
    expect(problem(stringMap, { k: 'x'.repeat(65_535) })).toBeUndefined()
    expect(problem(stringMap, { k: 'x'.repeat(65_536) })).toContain('65,537 bytes')
    expect(problem(stringMap, { k: 'é'.repeat(32_768) })).toContain('65,537 bytes')
  })
  it('refuses lone surrogates', () => {
    expect(problem(stringMap, { '\ud800': '' })).toContain('surrogate')
    expect(problem(stringMap, { a: '\udfff' })).toContain('surrogate')
  })
})

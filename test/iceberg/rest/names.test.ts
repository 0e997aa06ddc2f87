import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import {
  nameInPath,
  namespaceInPath,
  namespaceInQuery,
  namespaceSeparator,
  namespaceToPath,
  nameToPath,
} from '../../../src/iceberg/rest/names.ts'

const refusal = (message: string) =>
  expect.objectContaining({ name: 'IcebergError', status: 400, message: expect.stringContaining(message) })

const level = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1 }),
    fc.constantFrom('a.b', 'a/b', 'a%1Fb', 'a b', 'a+b', '%', '.', '..', '😀', '?#&='),
  )
  .filter((text) => !text.includes('\u001f'))
const namespaces = fc.array(level, { minLength: 1, maxLength: 5 })

describe('a namespace in a path', () => {
  test.each([
    ['accounting', ['accounting']],
    ['accounting%1Ftax', ['accounting', 'tax']],
    ['a%1fb%1Fc', ['a', 'b', 'c']],
    ['a.b%1Fc', ['a.b', 'c']],
    ['a%2Fb', ['a/b']],
    ['with%20space+and%2Bplus', ['with space and+plus']],
    ['%2525', ['%25']],
    ['%F0%9F%98%80', ['😀']],
    ['%2E%2E', ['..']],
  ])('%s is %j', (segment, levels) => {
    expect(namespaceInPath(segment)).toEqual(levels)
  })

  test.each(['', '%1F', 'a%1F', '%1Fa', 'a%1F%1Fb'])('%j has an empty level', (segment) => {
    expect(() => namespaceInPath(segment)).toThrow(refusal('has an empty level'))
  })

  test('shows the separator as a client writes it', () => {
    expect(() => namespaceInPath('a%1f%1fb')).toThrow(refusal('Invalid namespace: "a%1F%1Fb"'))
  })

  test.each(['%', 'a%2', '%zz', '%ff', '%C3%28', '%ED%A0%80'])('%s is no encoding', (segment) => {
    expect(() => namespaceInPath(segment)).toThrow(refusal('no percent-encoding'))
    expect(() => nameInPath(segment)).toThrow(refusal('no percent-encoding'))
  })

  test('is what was written', () => {
    fc.assert(
      fc.property(namespaces, (levels) => {
        const segment = namespaceToPath(levels)
        expect(namespaceInPath(segment)).toEqual(levels)
        expect(segment).toMatch(/^[\w.~!*'()%-]+$/)
        expect(['.', '..']).not.toContain(segment)
        expect(nameInPath(nameToPath(levels[0]!))).toBe(levels[0])
      }),
    )
  })

  test('is refused or read, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('%', '1F', '1f', 'a', '%1F', '+', '%C3', '%A9', '\u001f', '😀')),
        (parts) => {
          try {
            expect(namespaceInPath(parts.join(''))).not.toContain('')
          } catch (error) {
            expect(error).toBeInstanceOf(IcebergError)
          }
        },
      ),
    )
  })
})

describe('a namespace in a query', () => {
  test('is the root where it is absent or empty', () => {
    expect(namespaceInQuery(null)).toEqual([])
    expect(namespaceInQuery(undefined)).toEqual([])
    expect(namespaceInQuery('')).toEqual([])
  })

  test('is decoded once', () => {
    const query = new URLSearchParams('parent=accounting%1Ftax&other=one%251Fns')
    expect(namespaceInQuery(query.get('parent'))).toEqual(['accounting', 'tax'])
    expect(namespaceInQuery(query.get('other'))).toEqual(['one%1Fns'])
  })

  test.each(['\u001f', 'a\u001f', '\u001fa', 'a\u001f\u001fb'])('%j has an empty level', (value) => {
    expect(() => namespaceInQuery(value)).toThrow(refusal('has an empty level'))
  })

  test('is what was written', () => {
    fc.assert(
      fc.property(namespaces, (levels) => {
        const query = new URLSearchParams({ parent: levels.join('\u001f') })
        expect(namespaceInQuery(new URLSearchParams(query.toString()).get('parent'))).toEqual(levels)
      }),
    )
  })
})

describe('writing', () => {
  test('joins levels by the separator of the configuration', () => {
    expect(namespaceToPath(['a', 'b c'])).toBe(`a${namespaceSeparator}b%20c`)
  })

  test('refuses what could not be read back', () => {
    expect(() => namespaceToPath([])).toThrow(refusal('empty'))
    expect(() => namespaceToPath(['a', ''])).toThrow(refusal('a level is empty'))
    expect(() => namespaceToPath(['a\u001fb'])).toThrow(refusal('holds the unit separator'))
    expect(() => namespaceToPath(['\ud800'])).toThrow(refusal('half of a surrogate pair'))
    expect(() => nameToPath('')).toThrow(refusal('empty'))
    expect(() => nameInPath('')).toThrow(refusal('empty'))
  })
})

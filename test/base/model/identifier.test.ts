import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatIdentifier,
  identifierProblem,
  maxDepth,
  maxNameBytes,
  nameProblem,
  parseIdentifier,
  quote,
} from '../../../src/base/model/identifier.ts'

describe('nameProblem', () => {
  it.each([
    'a',
    '__proto__',
    'constructor',
    'toString',
    '..',
    '.',
    'a/b',
    'a\\b',
    ' ',
    '🛫',
    'naïve',
    '\u{10FFFF}',
    '\uffff',
  ])('takes %j', (name) => expect(nameProblem(name)).toBeUndefined())

  it.each([
    ['', 'empty'],
    ['a\u0000b', 'U+0000'],
    ['tab\t', 'U+0009'],
    ['\u007f', 'U+007F'],
    ['\u0085', 'U+0085'],
    ['\ud800', 'surrogate'],
    ['x\udc00y', 'surrogate'],
    ['a$b', "'$'"],
  ])('refuses %j', (name, why) => expect(nameProblem(name)).toContain(why))

  it('counts bytes of UTF-8, not characters', () => {
    expect(nameProblem('a'.repeat(maxNameBytes))).toBeUndefined()
    expect(nameProblem('a'.repeat(maxNameBytes + 1))).toContain('256 bytes')
    expect(nameProblem('é'.repeat(127))).toBeUndefined()
    expect(nameProblem('é'.repeat(128))).toContain('256 bytes')
    expect(nameProblem('🛫'.repeat(63))).toBeUndefined()
    expect(nameProblem('🛫'.repeat(64))).toContain('256 bytes')
  })
})

describe('identifierProblem', () => {
  it('takes up to 32 names', () => {
    expect(identifierProblem(Array(maxDepth).fill('n'))).toBeUndefined()
    expect(identifierProblem(Array(maxDepth + 1).fill('n'))).toContain('33 names')
  })

  it('says which name is wrong', () => {
    expect(identifierProblem(['good', 'b\nd'])).toMatch(/name 2 \("b\\nd"\).*U\+000A/)
  })
})

describe('the string form', () => {
  it('is the names joined by the delimiter, the delimiter alone being the root', () => {
    expect(formatIdentifier(['prod', 'flights'])).toBe('prod$flights')
    expect(formatIdentifier(['prod', 'flights'], '.')).toBe('prod.flights')
    expect(formatIdentifier([])).toBe('$')
    expect(parseIdentifier('$')).toEqual([])
    expect(parseIdentifier('::', '::')).toEqual([])
    expect(parseIdentifier('prod$flights')).toEqual(['prod', 'flights'])
  })

  it.each(['', '$a', 'a$', 'a$$b', '$$'])('with an empty segment is refused: %j', (text) => {
    expect(() => parseIdentifier(text)).toThrow(/empty segment.*write names/)
  })

  it('gives every identifier back', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((n) => !nameProblem(n))
    fc.assert(
      fc.property(fc.array(name, { maxLength: 5 }), (id) => {
        expect(parseIdentifier(formatIdentifier(id))).toEqual(id)
      }),
    )
  })
})

describe('quote', () => {
  it('makes control characters visible and cuts what is long', () => {
    expect(quote('a\u0000')).toBe('"a\\u0000"')
    expect(quote('x'.repeat(1_000)).length).toBeLessThan(90)
  })
})

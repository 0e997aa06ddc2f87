import { describe, expect, test } from 'vitest'
import { foldCodePoint } from '../../../../src/engine/predicate/evaluate/text-fold.ts'
import { finderOf, matcherOf, segmentsOf } from '../../../../src/engine/predicate/evaluate/text-pattern.ts'

test('code points fold to one exactly when they differ by case only', () => {
  // The engine's own table, asked one pair at a time: those that have any other case.
  let cased = 0
  const wrong: string[] = []
  for (let code = 0x41; code < 0x1f000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue
    const char = String.fromCodePoint(code)
    const others = [char.toLowerCase(), char.toUpperCase(), char.toUpperCase().toLowerCase()]
    for (const other of others) {
      if (other === char || Array.from(other).length > 1) continue
      cased++
      const isSame = new RegExp(`^\\u{${code.toString(16)}}$`, 'iu').test(other)
      if ((foldCodePoint(code) === foldCodePoint(other.codePointAt(0)!)) !== isSame)
        wrong.push(`${char} ${other}`)
    }
    if (foldCodePoint(foldCodePoint(code)) !== foldCodePoint(code)) wrong.push(`${char} twice`)
  }
  expect(wrong).toEqual([])
  expect(cased).toBeGreaterThan(2_500)
})

describe('patterns', () => {
  const many = { any: 'many' as const }
  const one = { any: 'one' as const }
  const like = (text: string, pattern: Parameters<typeof segmentsOf>[0]) => {
    const bytes = new TextEncoder().encode(`<${text}>`)
    return matcherOf(segmentsOf(pattern))(bytes, 1, bytes.length - 1)
  }

  test.each([
    ['', [], true],
    ['a', [], false],
    ['', [many], true],
    ['', [one], false],
    ['é', [one], true],
    ['𝒳𝒳', [one, one], true],
    ['aXbXc', ['a', many, 'b', many, 'c'], true],
    ['abab', ['ab', many, 'ab'], true],
    ['aba', ['ab', many, 'ba'], false],
    ['xaxbx', [many, 'a', one, 'b', many], true],
    ['éé', [many, one, 'é'], true],
    ['é', [many, one, 'é'], false],
    ['aab', [many, 'a', many, many, 'b'], true],
  ] as const)('%j is like %j: %s', (text, pattern, expected) => {
    expect(like(text, pattern)).toBe(expected)
  })

  test('are found where they first end', () => {
    const bytes = new TextEncoder().encode('aabaabaaab')
    const find = (needle: string) => finderOf(Array.from(new TextEncoder().encode(needle)))
    expect(find('aab')(bytes, 0, bytes.length)).toBe(3)
    expect(find('aab')(bytes, 1, bytes.length)).toBe(6)
    expect(find('aaab')(bytes, 0, bytes.length)).toBe(10)
    expect(find('aaab')(bytes, 0, 9)).toBe(-1)
    expect(find('b')(bytes, 9, 9)).toBe(-1)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { etagOf, isKnown } from '../../../src/iceberg/rest/etags.ts'

const location = 's3://lake/t/metadata/00002-a.metadata.json'
const tag = etagOf(location, 'all')

describe('an ETag', () => {
  test('says the metadata file and the snapshots, and tells neither', () => {
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/)
    expect(etagOf(location, 'all')).toBe(tag)
    expect(new Set([tag, etagOf(location, 'refs'), etagOf(`${location}x`, 'all')]).size).toBe(3)
  })
})

describe('If-None-Match', () => {
  test.each([
    tag,
    `W/${tag}`,
    ` ${tag}\t`,
    '*',
    ' * ',
    `"other", ${tag}`,
    `"a,b" , W/${tag}`,
    `${tag},"other"`,
    `,, ${tag} ,,`,
    `"",${tag}`,
    `"é", ${tag}`,
  ])('%s has the tag', (header) => {
    expect(isKnown(header, tag)).toBe(true)
    expect(isKnown(header, `W/${tag}`)).toBe(true)
  })

  test.each([
    undefined,
    null,
    '',
    ',',
    '"other"',
    tag.slice(1, -1),
    `w/${tag}`,
    `W/ ${tag}`,
    `${tag} "other"`,
    `${tag}, other`,
    `${tag}, *`,
    `*, ${tag}`,
    `"open, ${tag}`,
    `"x${tag.slice(1)}`,
    `W/W/${tag}`,
  ])('%s has not', (header) => {
    expect(isKnown(header, tag)).toBe(false)
  })

  test('has the tags that it lists, and no others', () => {
    const tags = fc
      .array(
        fc.constantFrom(
          ...Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((c) => c !== '"'),
        ),
      )
      .map((parts) => `"${parts.join('')}"`)
    const items = fc.tuple(tags, fc.boolean())
    fc.assert(
      fc.property(
        fc.array(items, { minLength: 1 }),
        tags,
        fc.constantFrom(',', ', ', ' ,\t', ',,'),
        (list, other, comma) => {
          const header = list.map(([one, weak]) => (weak ? `W/${one}` : one)).join(comma)
          const known = list.map(([one]) => one)
          for (const one of known) expect(isKnown(header, one)).toBe(true)
          expect(isKnown(header, other)).toBe(known.includes(other))
        },
      ),
    )
  })

  test('is read in a time that grows with its length', () => {
    // A time that grows with the square of it would be minutes.
    for (const part of [',', ' ', '\t,', '"', '"a"', 'W/"a",'])
      expect(isKnown(part.repeat(200_000), tag)).toBe(false)
  })
})

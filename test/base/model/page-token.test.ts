import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openPageToken, sealPageToken } from '../../../src/base/model/page-token.ts'

const position = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary' }).filter((s) => s.isWellFormed()),
    fc.maxSafeInteger(),
  ),
)

describe('a page token', () => {
  it('gives back the position it was made of', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), position, (secret, asked, at) => {
        expect(openPageToken(secret, asked, sealPageToken(secret, asked, at))).toEqual(
          JSON.parse(JSON.stringify(at)),
        )
      }),
    )
  })

  it('is the first page when it is absent, null or empty', () => {
    for (const token of [undefined, null, '']) expect(openPageToken('secret', 'asked', token)).toBeUndefined()
  })

  it('serves the catalog and the request it was made for only', () => {
    const token = sealPageToken('secret', 'asked', ['a'])
    expect(() => openPageToken('other', 'asked', token)).toThrow(/page_token does not come from this listing/)
    expect(() => openPageToken('secret', 'other', token)).toThrow(/Pass back the page_token/)
  })

  it('is refused when any bit of it was changed, or any part of it is missing', () => {
    const token = sealPageToken('secret', 'asked', ['prod', 'flights'])
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09-_=+/ ', '\0', 'é'), (at, char) => {
        const changed = token.slice(0, at) + char + token.slice(at + 1)
        fc.pre(changed !== token)
        expect(() => openPageToken('secret', 'asked', changed)).toThrow(/page_token/)
        expect(() => openPageToken('secret', 'asked', `${token}${char}`)).toThrow(/page_token/)
        if (at > 0) expect(() => openPageToken('secret', 'asked', token.slice(0, at))).toThrow(/page_token/)
      }),
    )
  })

  it('is refused when it is no token at all, however long', () => {
    for (const token of ['x', '%%%', 'null', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'A'.repeat(1_000_000)]) {
      expect(() => openPageToken('secret', 'asked', token)).toThrow(/page_token/)
    }
  })
})

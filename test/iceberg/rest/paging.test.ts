import { describe, expect, test } from 'vitest'
import { nextPage, pageOf } from '../../../src/iceberg/rest/paging.ts'

const asked = (query: string) => pageOf(new URLSearchParams(query))
const refusal = (message: string) =>
  expect.objectContaining({ name: 'IcebergError', status: 400, message: expect.stringContaining(message) })

describe('a page', () => {
  test.each([
    ['', { token: undefined, size: undefined }],
    ['pageToken=', { token: '', size: undefined }],
    ['pageToken', { token: '', size: undefined }],
    ['pageToken=a%2Bb&pageSize=10', { token: 'a+b', size: 10 }],
    ['pageToken=&pageSize=2147483647', { token: '', size: 2147483647 }],
    // The size alone does not ask for pages.
    ['pageSize=1', { token: undefined, size: 1 }],
    ['pageSize=0010', { token: undefined, size: 10 }],
  ])('of %j is %j', (query, page) => {
    expect(asked(query)).toEqual(page)
  })

  test.each(['0', '', '-1', '+1', '1.5', '1e3', '0x10', ' 1', '2147483648', '99999999999', 'many', '１'])(
    'has no size %j',
    (size) => {
      const query = new URLSearchParams({ pageToken: '', pageSize: size })
      expect(() => pageOf(query)).toThrow(refusal(`Invalid pageSize: "${size}"`))
      query.delete('pageToken')
      expect(() => pageOf(query)).toThrow(refusal('Give a whole number from 1 to 2147483647.'))
    },
  )

  test('is asked for once', () => {
    expect(() => asked('pageToken=a&pageToken=b')).toThrow(refusal('Invalid pageToken: there are 2 of them.'))
    expect(() => asked('pageSize=1&pageSize=1')).toThrow(refusal('Invalid pageSize: there are 2 of them.'))
  })

  test('tells the next one, and null after the last', () => {
    expect(nextPage('abc')).toEqual({ 'next-page-token': 'abc' })
    expect(JSON.stringify(nextPage(undefined))).toBe('{"next-page-token":null}')
    expect(nextPage('')).toEqual({ 'next-page-token': null })
  })
})

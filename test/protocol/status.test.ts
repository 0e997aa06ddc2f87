import { describe, expect, it } from 'vitest'
import { errorBody, errorOfResponse, problems, statusOfCode } from '../../src/protocol/status.ts'
import { type ErrorCode, errorNumbers } from '../../src/tabularium/index.ts'
import { documented } from '../server/support/ask.ts'

/** The statuses by number, as the design has them. */
const byNumber: Readonly<Record<number, readonly number[]>> = {
  404: [1, 4, 6, 8, 10, 11, 12, 22],
  409: [2, 3, 5, 7, 9, 14, 19, 23],
  400: [13, 20],
  406: [0],
  403: [15],
  401: [16],
  503: [17, 21],
  500: [18],
}

const codes = Object.keys(errorNumbers) as ErrorCode[]

describe('the statuses of errors', () => {
  it('are those of the design', () => {
    for (const [status, numbers] of Object.entries(byNumber)) {
      const found = codes
        .filter((code) => statusOfCode[code] === Number(status))
        .map((code) => errorNumbers[code])
      expect(
        found.sort((a, b) => a - b),
        status,
      ).toStrictEqual(numbers)
    }
  })

  it('have the types and titles of the document', () => {
    const told = Object.fromEntries(
      Object.entries(problems).map(([status, { type, title }]) => [status, [type, title]]),
    )
    // The document does not list two. TRACE must be refused with 405, which means what 406 means there; and requests with
    // an idempotency key, which it does not know, may be refused with 422.
    const other = ['/errors/bad-request', 'The idempotency key belongs to another request']
    expect(told).toStrictEqual({ ...documented, 405: documented[406], 422: other })
  })

  it.each(codes)('make a body of %s that leads back to it', (code) => {
    const body = errorBody(code, 'What was wrong.', '/v1/table')
    expect(errorOfResponse(body.status, JSON.parse(JSON.stringify(body)))).toMatchObject({
      code,
      message: 'What was wrong.',
    })
  })

  it.each([
    [404, undefined, 'Unsupported'],
    [429, 'slow', 'Throttling'],
    [502, '<html>', 'ServiceUnavailable'],
    [401, { message: 'no' }, 'Unauthenticated'],
    [500, { code: 'FST_ERR', error: 7 }, 'Internal'],
    [418, null, 'Internal'],
    [400, { code: 99, detail: 'odd' }, 'InvalidInput'],
  ])('read what others answer: %i %j is %s', (status, body, code) => {
    const error = errorOfResponse(status, body)
    expect(error.code).toBe(code)
    expect(error.message).toMatch(/./)
  })
})

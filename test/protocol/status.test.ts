import fc from 'fast-check'
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
    [418, null, 'InvalidInput'],
    [304, undefined, 'Internal'],
    [404, { type: '/errors/not-found-error' }, 'Unsupported'],
    [404, { code: 4, error: 'Gone.' }, 'TableNotFound'],
    // By gRPC, 14 means unavailable; here it is a conflict, which would be no matter of 503.
    [503, { code: 14, error: 'no upstream' }, 'ServiceUnavailable'],
    [404, { code: 5, error: 'x', message: 'not found' }, 'Unsupported'],
    [400, { code: 99, detail: 'odd' }, 'InvalidInput'],
  ])('read what others answer: %i %j is %s', (status, body, code) => {
    const error = errorOfResponse(status, body)
    expect(error.code).toBe(code)
    expect(error.message).toMatch(/./)
  })

  /** What each kind of status means, whatever else stands before a server. */
  const meanings: readonly (readonly [statuses: readonly number[], code: ErrorCode])[] = [
    [[401, 407, 511], 'Unauthenticated'],
    [[403, 451], 'PermissionDenied'],
    [[404, 405, 406, 410, 501, 505], 'Unsupported'],
    [[409], 'ConcurrentModification'],
    [[408, 421, 425], 'ServiceUnavailable'],
    [[429], 'Throttling'],
    [[500], 'Internal'],
  ]

  function meaningOf(status: number): ErrorCode {
    const found = meanings.find(([statuses]) => statuses.includes(status))
    return found?.[1] ?? (status < 400 ? 'Internal' : status < 500 ? 'InvalidInput' : 'ServiceUnavailable')
  }

  const words = fc.string({ minLength: 1, maxLength: 300 })
  const foreign = fc.oneof(
    fc.constantFrom('', null, undefined, [], {}, 7, true),
    words.map((text) => `<html><head><title>${text}</title></head><body>${text}</body></html>`),
    words,
    fc.record({ message: words, code: fc.integer({ min: 0, max: 30 }), error: words }),
    fc.record({ error: fc.record({ code: fc.integer(), message: words }) }),
    fc.record({ type: fc.constantFrom('about:blank', 'https://example.com/x'), detail: words }),
    fc.record({ code: fc.string(), detail: words }),
    fc.jsonValue(),
  )

  it('follow the status, where a body is none of a catalog', () => {
    const statuses = fc.oneof(
      fc.integer({ min: 300, max: 599 }),
      fc.constantFrom(413, 414, 431, 502, 503, 504),
    )
    fc.assert(
      fc.property(statuses, foreign, (status, body) => {
        const { code, message } = errorOfResponse(status, body, '/v1/table/')
        expect(code).toBe(meaningOf(status))
        expect(message).toContain(`status ${status}`)
        expect(message).toContain('proxy')
        // Whatever it says, its text is one short line that ends with advice.
        expect(message).not.toMatch(/[\n\r]/)
        expect(message.length).toBeLessThan(1_200)
        expect(message).toMatch(/\.$/)
      }),
      { numRuns: 2_000 },
    )
  })
})

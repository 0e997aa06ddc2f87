import { expect, it } from 'vitest'
import { logger } from '../../src/server/logger.ts'
import { CatalogError } from '../../src/tabularium/index.ts'

function logged(least: Parameters<typeof logger>[0]) {
  const lines: Record<string, unknown>[] = []
  const log = logger(least, (line) => {
    expect(line).toMatch(/^[^\n]+\n$/)
    lines.push(JSON.parse(line))
  })
  return { log, lines }
}

it('writes an error with its causes, and with what names the request', () => {
  const { log, lines } = logged('warn')
  const err = new CatalogError('Internal', 'It broke.', { cause: new TypeError('disk on fire') })
  log.error({ err, requestId: 'r-1', operation: undefined }, 'an operation failed')
  expect(lines).toStrictEqual([
    {
      level: 50,
      time: expect.any(Number),
      pid: process.pid,
      hostname: expect.any(String),
      err: {
        type: 'CatalogError',
        message: 'It broke.: disk on fire',
        stack: expect.stringMatching(/It broke\.[\s\S]*\ncaused by: TypeError: disk on fire\n/),
        name: 'CatalogError',
        code: 'Internal',
      },
      requestId: 'r-1',
      msg: 'an operation failed',
    },
  ])
})

it('writes what is no error, and causes that go in a circle', () => {
  const { log, lines } = logged('error')
  const circle = new Error('round')
  circle.cause = circle
  log.error({ err: circle }, 'a')
  log.error({ err: 'text' }, 'b')
  expect(lines.map(({ err }) => err)).toMatchObject([{ message: 'round' }, 'text'])
})

it.each([
  ['debug', 2],
  ['info', 2],
  ['warn', 1],
  ['error', 1],
  [false, 0],
] as const)('writes from %s up', (least, count) => {
  const { log, lines } = logged(least)
  log.info({}, 'listening')
  log.error({}, 'broken')
  expect(lines).toHaveLength(count)
})

it('knows no other levels', () => {
  expect(() => logged('loud' as never)).toThrow(/log must be debug, info, warn, error or false/)
})
